package calc

import (
	"math"
	"math/big"
	"strings"
)

// maxDepth bounds how deeply brackets, signs and powers are nested.
const maxDepth = 100

// evaluate works an expression out while it parses it.
func evaluate(expression string) (value, error) {
	tokens, err := scan(expression)
	if err != nil {
		return value{}, err
	}
	p := parser{tokens: tokens}
	v, err := p.expression(0)
	if err != nil {
		return value{}, err
	}
	if t := p.next(); t.kind != kindEnd {
		return value{}, unwanted(t)
	}
	return v, nil
}

type parser struct {
	tokens []token // the end comes last
	depth  int
}

func (p *parser) peek() token { return p.tokens[0] }

// next takes a token. The end stays where it is.
func (p *parser) next() token {
	t := p.tokens[0]
	if t.kind != kindEnd {
		p.tokens = p.tokens[1:]
	}
	return t
}

// An operator binds its left operand with one strength and its right one with
// another; the right one is the weaker where operators group from the right.
type operator struct {
	left, right int
	apply       func(a, b value) (value, error)
}

var operators = map[kind]operator{
	"+": {10, 10, add},
	"-": {10, 10, subtract},
	"*": {20, 20, multiply},
	"/": {20, 20, divide},
	"%": {20, 20, remainder},
	"^": {40, 39, power},
}

// sign is how strongly a sign binds: -2^2 is -4, -2*3 is (-2)*3.
const sign = 30

// expression parses operators that bind more strongly than the one to the left.
func (p *parser) expression(strength int) (value, error) {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > maxDepth {
		return value{}, p.peek().errorf("nested more than %d deep", maxDepth)
	}
	left, err := p.operand()
	for err == nil {
		op, ok := operators[p.peek().kind]
		if !ok || op.left <= strength {
			return left, nil
		}
		t := p.next()
		var right value
		if right, err = p.expression(op.right); err != nil {
			break
		}
		if left, err = op.apply(left, right); err != nil {
			err = t.errorf("%w", err)
		}
	}
	return value{}, err
}

func (p *parser) operand() (value, error) {
	switch t := p.next(); t.kind {
	case kindNumber:
		return number(t)
	case kindName:
		if p.peek().kind == "(" {
			return p.call(t)
		}
		return constant(t)
	case "-":
		v, err := p.expression(sign)
		if err != nil {
			return value{}, err
		}
		return value{new(big.Rat).Neg(v.rat), v.rounded}, nil
	case "+":
		return p.expression(sign)
	case "(":
		v, err := p.expression(0)
		if err != nil {
			return value{}, err
		}
		if t := p.next(); t.kind != ")" {
			return value{}, unwanted(t)
		}
		return v, nil
	default:
		return value{}, t.errorf("expected a number, a name or a bracket before %s", t)
	}
}

// call parses a function's arguments and calls it.
func (p *parser) call(name token) (value, error) {
	f, ok := functions[strings.ToLower(name.text)]
	if !ok {
		return value{}, name.errorf("there is no function %s", name)
	}
	p.next() // the opening bracket
	var args []value
	for p.peek().kind != ")" {
		if len(args) > 0 {
			if t := p.next(); t.kind != "," {
				return value{}, unwanted(t)
			}
		}
		arg, err := p.expression(0)
		if err != nil {
			return value{}, err
		}
		args = append(args, arg)
	}
	p.next()
	if len(args) < f.least || len(args) > f.most {
		return value{}, name.errorf("%s takes %s", name.text, f.takes())
	}
	v, err := f.call(args)
	if err != nil {
		return value{}, name.errorf("%w", err)
	}
	return v, nil
}

// unwanted says that a value ended before t, which does not go on from there.
func unwanted(t token) error {
	return t.errorf("expected an operator or a closing bracket before %s", t)
}

func number(t token) (value, error) {
	r, ok := new(big.Rat).SetString(strings.ReplaceAll(t.text, "_", ""))
	if !ok {
		return value{}, t.errorf("%s is not a number", t)
	}
	v, err := settle(r, false)
	if err != nil {
		return value{}, t.errorf("%w", err)
	}
	return v, nil
}

func constant(t token) (value, error) {
	switch strings.ToLower(t.text) {
	case "pi":
		return float(math.Pi)
	case "e":
		return float(math.E)
	}
	if _, ok := functions[strings.ToLower(t.text)]; ok {
		return value{}, t.errorf("%s is a function: write %s(...)", t.text, t.text)
	}
	return value{}, t.errorf("%s has no value; there are pi and e", t)
}
