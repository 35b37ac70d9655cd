package calc

import (
	"errors"
	"math"
	"math/big"
	"strconv"
)

// A value is a number, which may have been rounded to a float64 on the way.
type value struct {
	rat     *big.Rat
	rounded bool
}

// maxBits bounds the numerator and the denominator of an exact number, to some
// 1,200 digits.
const maxBits = 4096

var (
	errZeroDivision = errors.New("division by zero")
	errTooLarge     = errors.New("the result is too large")
	errNotReal      = errors.New("the result is not a real number")
)

// settle makes a value of the exact outcome of an operation: rounded if one of
// its operands was, or if there is no room for all of its digits.
func settle(r *big.Rat, rounded bool) (value, error) {
	if !rounded && r.Num().BitLen() <= maxBits && r.Denom().BitLen() <= maxBits {
		return value{rat: r}, nil
	}
	f, _ := r.Float64()
	return float(f)
}

func float(f float64) (value, error) {
	switch {
	case math.IsNaN(f):
		return value{}, errNotReal
	case math.IsInf(f, 0):
		return value{}, errTooLarge
	}
	return value{new(big.Rat).SetFloat64(f), true}, nil
}

// integer returns the value if it is an integer of no more than limit, signs aside.
func (v value) integer(limit int64) (int64, bool) {
	if n := v.rat.Num(); v.rat.IsInt() && n.CmpAbs(big.NewInt(limit)) <= 0 {
		return n.Int64(), true
	}
	return 0, false
}

func (v value) float() float64 {
	f, _ := v.rat.Float64()
	return f
}

func add(a, b value) (value, error) {
	return settle(new(big.Rat).Add(a.rat, b.rat), a.rounded || b.rounded)
}

func subtract(a, b value) (value, error) {
	return settle(new(big.Rat).Sub(a.rat, b.rat), a.rounded || b.rounded)
}

func multiply(a, b value) (value, error) {
	return settle(new(big.Rat).Mul(a.rat, b.rat), a.rounded || b.rounded)
}

func divide(a, b value) (value, error) {
	if b.rat.Sign() == 0 {
		return value{}, errZeroDivision
	}
	return settle(new(big.Rat).Quo(a.rat, b.rat), a.rounded || b.rounded)
}

// remainder is a - b*floor(a/b).
func remainder(a, b value) (value, error) {
	if b.rat.Sign() == 0 {
		return value{}, errZeroDivision
	}
	whole := floor(new(big.Rat).Quo(a.rat, b.rat))
	return settle(whole.Sub(a.rat, whole.Mul(whole, b.rat)), a.rounded || b.rounded)
}

func floor(r *big.Rat) *big.Rat {
	// Div rounds down where the divisor is positive, which denominators are.
	return new(big.Rat).SetInt(new(big.Int).Div(r.Num(), r.Denom()))
}

// power is exact where the exponent is an integer and the result has room.
func power(a, b value) (value, error) {
	if a.rat.Sign() == 0 && b.rat.Sign() < 0 {
		return value{}, errZeroDivision
	}
	bits := max(a.rat.Num().BitLen(), a.rat.Denom().BitLen())
	n, ok := b.integer(2 * maxBits / int64(bits))
	if !ok || a.rounded || b.rounded {
		return float(math.Pow(a.float(), b.float()))
	}
	times := big.NewInt(max(n, -n))
	r := new(big.Rat).SetFrac(new(big.Int).Exp(a.rat.Num(), times, nil), new(big.Int).Exp(a.rat.Denom(), times, nil))
	if n < 0 {
		r.Inv(r)
	}
	return settle(r, false)
}

const (
	maxDecimals = 100 // of an exact result
	digits      = 20  // of a fraction that has no end
)

// format writes the value and says whether nothing of it is left out.
func (v value) format() (text string, exact bool) {
	if v.rounded {
		return strconv.FormatFloat(v.float(), 'g', -1, 64), false
	}
	if decimals, ends := v.rat.FloatPrec(); ends && decimals <= maxDecimals {
		return v.rat.FloatString(decimals), true
	}
	return new(big.Float).SetPrec(128).SetRat(v.rat).Text('g', digits), false
}
