package calc_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/tool/calc"
)

// The calculator is exact with decimals. Here it is called without an agent.
func ExampleNew() {
	result, err := calc.New().Call(context.Background(), &troupe.Invocation{Arguments: json.RawMessage(`{"expression":"0.1 + 0.2"}`)})
	fmt.Println(result.Content, err)
	// Output: {"result":"0.3","exact":true} <nil>
}
