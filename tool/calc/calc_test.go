package calc

import (
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/troupe-dev/troupe"
)

func call(t *testing.T, expression string) (string, error) {
	t.Helper()
	got, err := New().Call(t.Context(), &troupe.Invocation{Arguments: fmt.Appendf(nil, `{"expression":%q}`, expression)})
	return got.Content, err
}

func TestTheCalculatorOnlyReads(t *testing.T) {
	if spec := New().Spec(); !spec.ReadOnly || !spec.RepeatSafe {
		t.Errorf("%+v", spec)
	}
}

func TestExpressionsAreWorkedOut(t *testing.T) {
	t.Attr("FR", "FR-008 FR-011")
	for expression, want := range map[string]string{
		"0.1 + 0.2":                 "0.3 exact",
		"1+2*3":                     "7 exact",
		"(1+2)*3":                   "9 exact",
		"2^3^2":                     "512 exact",
		"2**10":                     "1024 exact",
		"-2^2":                      "-4 exact",
		"(-2)^2":                    "4 exact",
		"2^-2":                      "0.25 exact",
		"2^-1^2":                    "0.5 exact",
		"--3":                       "3 exact",
		"+3 - -3":                   "6 exact",
		"2*-3":                      "-6 exact",
		"10-4-3":                    "3 exact",
		"100/10/5":                  "2 exact",
		"7 × 8 ÷ 2 − 1":             "27 exact",
		"1/3":                       "0.33333333333333333333 rounded",
		"2/3*3":                     "2 exact",
		"7 % 3":                     "1 exact",
		"-7 % 3":                    "2 exact",
		"7.5 % -2":                  "-0.5 exact",
		"0^0":                       "1 exact",
		"1_000_000 * 1e-3":          "1000 exact",
		".5 + 5.":                   "5.5 exact",
		"1.5E+3":                    "1500 exact",
		"12345678901234567890 * 10": "123456789012345678900 exact",
		"2^100":                     "1267650600228229401496703205376 exact",
		"1.05^10 * 1000":            "1628.89462677744140625 exact",
		"(1+0.07/365)^(365*30)":     "8.16452586777897 rounded",
		"4^0.5":                     "2 rounded",
		"2*pi":                      "6.283185307179586 rounded",
		"ln(e)":                     "1 rounded",
		"sqrt(2)^2":                 "2.0000000000000004 rounded",
		"sqrt(16)":                  "4 exact",
		"sqrt(0.25)":                "0.5 exact",
		"SQRT(2)":                   "1.4142135623730951 rounded",
		"abs(-3.5)":                 "3.5 exact",
		"round(2.5)":                "3 exact",
		"round(-2.5)":               "-3 exact",
		"round(2.345, 2)":           "2.35 exact",
		"round(1250, -2)":           "1300 exact",
		"round(pi, 2)":              "3.14 rounded",
		"floor(-1.5)":               "-2 exact",
		"ceil(-1.5)":                "-1 exact",
		"ceil(1.2)":                 "2 exact",
		"min(3, 1/2, 2)":            "0.5 exact",
		"max(3, pi)":                "3.141592653589793 rounded",
		"sum(0.1, 0.2, 0.3)":        "0.6 exact",
		"pow(2, 8)":                 "256 exact",
		"mod(-1, 5)":                "4 exact",
		"factorial(0)":              "1 exact",
		"factorial(20)":             "2432902008176640000 exact",
		"log10(1000)":               "3 exact",
		"log2(1/8)":                 "-3 exact",
		"log(81, 3)":                "4 exact",
		"log(2, 10)":                "0.30102999566398114 rounded",
		"exp(0)":                    "1 rounded",
		"sin(0)":                    "0 rounded",
		"cos(pi)":                   "-1 rounded",
		"atan(1)*4":                 "3.141592653589793 rounded",
		"1e-300":                    "1e-300 rounded",
		strings.Repeat("(", 90) + "1" + strings.Repeat(")", 90): "1 exact",
	} {
		v, err := evaluate(expression)
		if err != nil {
			t.Errorf("%s: %v", expression, err)
			continue
		}
		text, exact := v.format()
		got := text + map[bool]string{true: " exact", false: " rounded"}[exact]
		if got != want {
			t.Errorf("%s = %s, want %s", expression, got, want)
		}
	}
	got, err := call(t, "19.99 * 3")
	if want := `{"result":"59.97","exact":true}`; got != want || err != nil {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
}

func TestMistakesAreShownWhereTheyAre(t *testing.T) {
	t.Attr("FR", "FR-008 FR-010")
	for expression, want := range map[string]string{
		"":               `at character 1: expected a number, a name or a bracket before the end`,
		"1 +":            `at character 4: expected a number, a name or a bracket before the end`,
		"2 × × 3":        `at character 5: expected a number, a name or a bracket before "×"`,
		"2pi":            `at character 2: expected an operator or a closing bracket before "pi"`,
		"2(3)":           `at character 2: expected an operator or a closing bracket before "("`,
		"(1)(2)":         `at character 4: expected an operator or a closing bracket before "("`,
		"1 2":            `at character 3: expected an operator or a closing bracket before "2"`,
		"1,000":          `at character 2: expected an operator or a closing bracket before ","`,
		"1.2.3":          `at character 4: expected an operator or a closing bracket before ".3"`,
		"(1+2":           `at character 5: expected an operator or a closing bracket before the end`,
		"1)":             `at character 2: expected an operator or a closing bracket before ")"`,
		"1 / (2 - 2)":    `at character 3: division by zero`,
		"5 % 0":          `at character 3: division by zero`,
		"0 ^ -1":         `at character 3: division by zero`,
		"1 + x":          `at character 5: "x" has no value; there are pi and e`,
		"sqrt":           `at character 1: sqrt is a function: write sqrt(...)`,
		"1 + foo(2)":     `at character 5: there is no function "foo"`,
		"sqrt()":         `at character 1: sqrt takes 1 argument`,
		"log(8)":         `at character 1: log takes 2 arguments`,
		"round(1,2,3)":   `at character 1: round takes 1 or 2 arguments`,
		"max()":          `at character 1: max takes 1 or more arguments`,
		"max(1,)":        `at character 7: expected a number, a name or a bracket before ")"`,
		"max(,1)":        `at character 5: expected a number, a name or a bracket before ","`,
		"max(1 2)":       `at character 7: expected an operator or a closing bracket before "2"`,
		"max(1":          `at character 6: expected an operator or a closing bracket before the end`,
		"sqrt(-1)":       `at character 1: the result is not a real number`,
		"(-8)^(1/3)":     `at character 5: the result is not a real number`,
		"ln(0)":          `at character 1: the result is too large`,
		"log(5, 1)":      `at character 1: the result is not a real number`,
		"asin(2)":        `at character 1: the result is not a real number`,
		"round(1, 0.5)":  `at character 1: round takes an integer from -100 to 100 as the number of decimals`,
		"factorial(1.5)": `at character 1: factorial takes an integer that is not negative`,
		"factorial(-1)":  `at character 1: factorial takes an integer that is not negative`,
		"$5":             `at character 1: unexpected '$'`,
		"π":              `at character 1: unexpected 'π'`,
		"10%":            `at character 4: expected a number, a name or a bracket before the end`,
		"import os":      `at character 1: "import" has no value; there are pi and e`,
	} {
		if _, err := evaluate(expression); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", expression, err, want)
		}
	}
	_, err := call(t, "1/0")
	if failure, ok := err.(*troupe.ToolError); !ok || failure.Class != "invalid_arguments" || failure.Error() != "at character 2: division by zero" {
		t.Errorf("the tool says %v", err)
	}
}

func TestWhatWouldTakeTooLongIsRefusedAtOnce(t *testing.T) {
	began := time.Now()
	for expression, want := range map[string]string{
		"9^9^9":                      "at character 2: the result is too large",
		"9^9^9^9^9":                  "at character 6: the result is too large",
		"(2^4000)^4000":              "at character 9: the result is too large",
		"factorial(factorial(20))":   "at character 1: the result is too large",
		"factorial(4000)":            "at character 1: the result is too large",
		"1e999999999":                `at character 1: "1e999999999" is out of range`,
		"1e-99999999999999999999":    `at character 1: "1e-99999999999999999999" is out of range`,
		"10^1000*10^1000":            "at character 8: the result is too large",
		strings.Repeat("9", 4000):    "at character 1: the result is too large",
		strings.Repeat("1+", 3000):   "the expression is longer than 4096 characters",
		strings.Repeat("(", 200):     "at character 101: nested more than 100 deep",
		strings.Repeat("-", 200):     "at character 101: nested more than 100 deep",
		strings.Repeat("2^", 200):    "at character 201: nested more than 100 deep",
		strings.Repeat("abs(", 200):  "at character 401: nested more than 100 deep",
		strings.Repeat("9^9*", 1000): "at character 572: the result is too large",
	} {
		if _, err := evaluate(expression); err == nil || err.Error() != want {
			t.Errorf("%.40s: %v, want %s", expression, err, want)
		}
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("all of it took %s", took)
	}
}

// An ast is an expression as text and its value, worked out apart.
type ast struct {
	text     string
	want     *big.Rat // nil where it divides by zero
	strength int      // of its outermost operator; 4 for a number
}

// drawAST makes an expression with no brackets but those that it needs, and some.
func drawAST(t *rapid.T, depth int) ast {
	if depth == 0 || rapid.IntRange(0, 4).Draw(t, "leaf") == 0 {
		text := rapid.StringMatching(`[0-9]{1,6}(\.[0-9]{1,4})?`).Draw(t, "number")
		want, _ := new(big.Rat).SetString(text)
		return ast{text, want, 4}
	}
	op := rapid.SampledFrom([]string{"+", "-", "*", "/", "%", "^", "neg"}).Draw(t, "operator")
	a := drawAST(t, depth-1)
	if op == "neg" {
		return ast{"-" + bracket(t, a, 3), negated(a.want), 2}
	}
	if op == "^" {
		n := rapid.IntRange(-3, 5).Draw(t, "exponent")
		return ast{fmt.Sprintf("%s^%d", bracket(t, a, 4), n), raised(a.want, n), 3}
	}
	strength := map[string]int{"+": 0, "-": 0, "*": 1, "/": 1, "%": 1}[op]
	b := drawAST(t, depth-1)
	space := rapid.SampledFrom([]string{"", " "}).Draw(t, "space")
	return ast{bracket(t, a, strength) + space + op + space + bracket(t, b, strength+1), combined(op, a.want, b.want), strength}
}

func bracket(t *rapid.T, a ast, strength int) string {
	if a.strength < strength || rapid.IntRange(0, 5).Draw(t, "brackets") == 0 {
		return "(" + a.text + ")"
	}
	return a.text
}

func negated(a *big.Rat) *big.Rat {
	if a == nil {
		return nil
	}
	return new(big.Rat).Sub(new(big.Rat), a)
}

func raised(a *big.Rat, n int) *big.Rat {
	if a == nil || a.Sign() == 0 && n < 0 {
		return nil
	}
	product := big.NewRat(1, 1)
	for range max(n, -n) {
		product.Mul(product, a)
	}
	if n < 0 {
		product.Inv(product)
	}
	return product
}

func combined(op string, a, b *big.Rat) *big.Rat {
	if a == nil || b == nil || b.Sign() == 0 && (op == "/" || op == "%") {
		return nil
	}
	r := new(big.Rat)
	switch op {
	case "+":
		return r.Add(a, b)
	case "-":
		return r.Sub(a, b)
	case "*":
		return r.Mul(a, b)
	case "/":
		return r.Quo(a, b)
	}
	// The remainder is the number of b's sign, nearer to zero than b, that is a
	// whole number of b away from a.
	quotient := r.Quo(a, b)
	whole := new(big.Int).Quo(quotient.Num(), quotient.Denom())
	r.Sub(a, new(big.Rat).Mul(new(big.Rat).SetInt(whole), b))
	if r.Sign() != 0 && r.Sign() != b.Sign() {
		r.Add(r, b)
	}
	return r
}

func TestRandomExpressionsHaveTheValueOfTheirParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := drawAST(t, 4)
		got, err := evaluate(a.text)
		switch {
		case a.want == nil:
			if err == nil {
				t.Fatalf("%s = %s, but it divides by zero", a.text, got.rat)
			}
		case err != nil:
			// No room: what has so many digits may not be expected to be exact.
			if !strings.HasSuffix(err.Error(), errTooLarge.Error()) {
				t.Fatalf("%s: %v, want %s", a.text, err, a.want)
			}
		case !got.rounded && got.rat.Cmp(a.want) != 0:
			t.Fatalf("%s = %s, want %s", a.text, got.rat, a.want)
		case got.rounded && a.want.Num().BitLen() < 500:
			t.Fatalf("%s was rounded to %s", a.text, got.rat)
		}
	})
}

func FuzzEvaluate(f *testing.F) {
	for _, seed := range []string{"0.1+0.2", "-2^3^2 % 7", "max(1, 2e3, sqrt(2))", "((1)", "9^9^9", "round(pi, 2) × 3", "1__0", "log(8,2)"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, expression string) {
		began := time.Now()
		v, err := evaluate(expression)
		if took := time.Since(began); took > time.Minute {
			t.Errorf("took %s", took)
		}
		if err != nil {
			return
		}
		text, exact := v.format()
		back, ok := new(big.Rat).SetString(text)
		if !ok || exact && back.Cmp(v.rat) != 0 {
			t.Errorf("%q = %s, shown as %s (exact %v)", expression, v.rat, text, exact)
		}
	})
}
