package sqlite

import "strings"

// conditions are what rows have to meet, with the values they name.
type conditions struct {
	terms  []string
	values []any
}

func (c *conditions) add(term string, values ...any) {
	c.terms = append(c.terms, term)
	c.values = append(c.values, values...)
}

// equal restricts a column to a value that is not empty.
func (c *conditions) equal(column, value string) {
	if value != "" {
		c.add(column+" = ?", value)
	}
}

func (c *conditions) text() string {
	if len(c.terms) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(c.terms, " AND ")
}
