package argcheck

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func BenchmarkCheckAgainstDecoding(b *testing.B) {
	smallSchema := `{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"]}`
	largeSchema := `{"type":"object","properties":{"orders":{"type":"array","items":{"type":"object","properties":{
		"id":{"type":"integer","minimum":1},"name":{"type":"string","minLength":1},"price":{"type":"number"},
		"state":{"enum":["open","paid","sent"]},"tags":{"type":"array","items":{"type":"string"}}},
		"required":["id","name"],"additionalProperties":false}}},"required":["orders"]}`
	var orders []string
	for i := range 83 {
		orders = append(orders, fmt.Sprintf(
			`{"id": %d, "name": "A \"quoted\" name of order %d, Zürich", "price": %d.25, "state": "paid", "tags": ["x", "yy", "zzz"]}`, i+1, i, i))
	}
	large := `{"orders": [` + strings.Join(orders, ", ") + `]}`
	for name, test := range map[string][2]string{
		"13B":                                {smallSchema, `{"a":2,"b":3}`},
		fmt.Sprintf("%dKB", len(large)/1000): {largeSchema, large},
	} {
		nodes, full, doc := mustCompile(b, test[0]), fullOf(b, []byte(test[0])), []byte(test[1])
		run := func(kind string, check func() error) {
			b.Run(name+"/"+kind, func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(int64(len(doc)))
				for b.Loop() {
					if err := check(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		run("nodes", func() error { return nodes.Check(doc) })
		run("full", func() error { return full.Check(doc) })
		run("decode-only", func() error {
			var value any
			return json.Unmarshal(doc, &value)
		})
	}
}
