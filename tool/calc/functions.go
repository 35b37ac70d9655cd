package calc

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
)

// A function takes from least to most arguments.
type function struct {
	least, most int
	call        func(args []value) (value, error)
}

func (f function) takes() string {
	switch {
	case f.most == many:
		return fmt.Sprintf("%d or more arguments", f.least)
	case f.most > f.least:
		return fmt.Sprintf("%d or %d arguments", f.least, f.most)
	case f.least == 1:
		return "1 argument"
	}
	return fmt.Sprintf("%d arguments", f.least)
}

// many is the most that a function takes which takes any number of arguments.
const many = maxLength

var functions = map[string]function{
	"abs":       {1, 1, abs},
	"ceil":      {1, 1, ceil},
	"floor":     {1, 1, func(args []value) (value, error) { return settle(floor(args[0].rat), args[0].rounded) }},
	"round":     {1, 2, round},
	"sqrt":      {1, 1, sqrt},
	"pow":       binary(power),
	"mod":       binary(remainder),
	"factorial": {1, 1, factorial},
	"min":       {1, many, func(args []value) (value, error) { return slices.MinFunc(args, compare), nil }},
	"max":       {1, many, func(args []value) (value, error) { return slices.MaxFunc(args, compare), nil }},
	"sum":       {1, many, sum},
	"exp":       ofFloats(math.Exp),
	"ln":        ofFloats(math.Log),
	"log10":     {1, 1, func(args []value) (value, error) { return logarithm(args[0], whole(10)) }},
	"log2":      {1, 1, func(args []value) (value, error) { return logarithm(args[0], whole(2)) }},
	"log":       binary(logarithm),
	"sin":       ofFloats(math.Sin),
	"cos":       ofFloats(math.Cos),
	"tan":       ofFloats(math.Tan),
	"asin":      ofFloats(math.Asin),
	"acos":      ofFloats(math.Acos),
	"atan":      ofFloats(math.Atan),
}

// ofFloats is a function that is not worked out exactly.
func ofFloats(f func(float64) float64) function {
	return function{1, 1, func(args []value) (value, error) { return float(f(args[0].float())) }}
}

func binary(f func(a, b value) (value, error)) function {
	return function{2, 2, func(args []value) (value, error) { return f(args[0], args[1]) }}
}

func whole(n int64) value { return value{rat: new(big.Rat).SetInt64(n)} }

func compare(a, b value) int { return a.rat.Cmp(b.rat) }

func abs(args []value) (value, error) {
	return value{new(big.Rat).Abs(args[0].rat), args[0].rounded}, nil
}

func ceil(args []value) (value, error) {
	down := floor(new(big.Rat).Neg(args[0].rat))
	return settle(down.Neg(down), args[0].rounded)
}

func sum(args []value) (total value, err error) {
	total = whole(0)
	for _, arg := range args {
		if total, err = add(total, arg); err != nil {
			return value{}, err
		}
	}
	return total, nil
}

// round rounds half away from zero, to a number of decimals that may be negative.
func round(args []value) (value, error) {
	decimals := whole(0)
	if len(args) == 2 {
		decimals = args[1]
	}
	if _, ok := decimals.integer(maxDecimals); !ok {
		return value{}, fmt.Errorf("round takes an integer from -%d to %d as the number of decimals", maxDecimals, maxDecimals)
	}
	unit, err := power(whole(10), value{rat: decimals.rat})
	if err != nil {
		return value{}, err
	}
	r := new(big.Rat).Mul(args[0].rat, unit.rat)
	negative := r.Sign() < 0
	r = floor(r.Abs(r).Add(r, big.NewRat(1, 2)))
	if negative {
		r.Neg(r)
	}
	return settle(r.Quo(r, unit.rat), args[0].rounded)
}

func factorial(args []value) (value, error) {
	if !args[0].rat.IsInt() || args[0].rat.Sign() < 0 {
		return value{}, errors.New("factorial takes an integer that is not negative")
	}
	n, ok := args[0].integer(maxBits)
	if !ok {
		return value{}, errTooLarge
	}
	return settle(new(big.Rat).SetInt(new(big.Int).MulRange(1, n)), args[0].rounded)
}

// sqrt is exact for squares.
func sqrt(args []value) (value, error) {
	r := args[0].rat
	if r.Sign() < 0 {
		return value{}, errNotReal
	}
	root := value{rat: new(big.Rat).SetFrac(new(big.Int).Sqrt(r.Num()), new(big.Int).Sqrt(r.Denom()))}
	if square := new(big.Rat).Mul(root.rat, root.rat); !args[0].rounded && square.Cmp(r) == 0 {
		return root, nil
	}
	return float(math.Sqrt(args[0].float()))
}

// logarithm is exact where the result is an integer.
func logarithm(x, base value) (value, error) {
	if x.rat.Sign() <= 0 || base.rat.Sign() <= 0 || compare(base, whole(1)) == 0 {
		return value{}, errNotReal
	}
	f := math.Log(x.float()) / math.Log(base.float())
	v, err := float(f)
	if err != nil || x.rounded || base.rounded {
		return v, err
	}
	near := whole(int64(math.Round(f)))
	if again, err := power(base, near); err == nil && !again.rounded && compare(again, x) == 0 {
		return near, nil
	}
	return v, nil
}
