package argcheck

import (
	"bytes"
	"cmp"
)

// A decimal is a JSON number in the form sign × 0.digits × 10^point. It compares
// exactly and refers to the text it was read from, so that reading allocates nothing.
type decimal struct {
	sign   int // -1, 0 or 1
	digits []byte
	point  int
}

// decimalOf takes apart a number that the scanner accepted. The digits keep no
// outer zeros, but may hold the decimal point.
func decimalOf(number []byte) decimal {
	d := decimal{sign: 1}
	if number[0] == '-' {
		d.sign = -1
		number = number[1:]
	}
	if e := bytes.IndexAny(number, "eE"); e >= 0 {
		d.point, _ = readExponent(number[e+1:])
		number = number[:e]
	}
	if dot := bytes.IndexByte(number, '.'); dot >= 0 {
		d.point += dot
	} else {
		d.point += len(number)
	}
	for len(number) > 0 && (number[0] == '0' || number[0] == '.') {
		if number[0] == '0' {
			d.point--
		}
		number = number[1:]
	}
	d.digits = bytes.TrimRight(number, "0")
	if n := len(d.digits); n > 0 && d.digits[n-1] == '.' {
		d.digits = bytes.TrimRight(d.digits[:n-1], "0")
	}
	if len(d.digits) == 0 {
		return decimal{}
	}
	return d
}

// readExponent reads digits after an optional sign. It stops at maxNumber, and
// returns how many bytes it read.
func readExponent(text []byte) (exponent, size int) {
	sign := 1
	if size < len(text) && (text[size] == '+' || text[size] == '-') {
		if text[size] == '-' {
			sign = -1
		}
		size++
	}
	for size < len(text) && isDigit(text[size]) {
		exponent = min(exponent*10+int(text[size]-'0'), maxNumber+1)
		size++
	}
	return sign * exponent, size
}

func (d decimal) isInteger() bool {
	count := len(d.digits)
	if bytes.IndexByte(d.digits, '.') >= 0 {
		count--
	}
	return count <= d.point
}

// compare returns -1, 0 or 1 as d is less than, equal to or more than other.
func (d decimal) compare(other decimal) int {
	if d.sign != other.sign {
		return cmp.Compare(d.sign, other.sign)
	}
	if d.point != other.point {
		return d.sign * cmp.Compare(d.point, other.point)
	}
	return d.sign * compareDigits(d.digits, other.digits)
}

func compareDigits(a, b []byte) int {
	for {
		a, b = withoutPoint(a), withoutPoint(b)
		if len(a) == 0 || len(b) == 0 {
			return cmp.Compare(len(a), len(b))
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
}

func withoutPoint(digits []byte) []byte {
	if len(digits) > 0 && digits[0] == '.' {
		return digits[1:]
	}
	return digits
}
