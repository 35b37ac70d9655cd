package troupetest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/troupe-dev/troupe"
)

// everyKind makes a log with an event of every kind that is stored, every field of
// it set to something.
func everyKind(session string) []troupe.Event {
	var events []troupe.Event
	var f filler
	for _, body := range troupe.Bodies() {
		switch body.(type) {
		case *troupe.TextDelta, *troupe.ThoughtDelta:
			continue // shown, not stored
		}
		f.fill(reflect.ValueOf(body).Elem())
		e := eventOf(session, int64(len(events)+1), body)
		e.Time = e.Time.In(time.FixedZone("somewhere", 5400))
		events = append(events, e)
	}
	child := eventOf(session, int64(len(events)+1), &troupe.Warned{Code: "in_a_child"})
	child.Run, child.Parent, child.Step = "r:3/1", "r", "2/0"
	return append(events, child)
}

// A filler sets values to something that no other value is.
type filler struct{ n int64 }

func (f *filler) fill(v reflect.Value) {
	f.n++
	switch value := v.Addr().Interface().(type) {
	case *json.RawMessage:
		*value = fmt.Appendf(nil, `{"n":%d}`, f.n)
		return
	case *troupe.Arguments:
		*value = troupe.Arguments(fmt.Sprintf(`{"n":[%d,1e3,"é"]}`, f.n))
		return
	case *troupe.Millis:
		*value = troupe.Millis(f.n * int64(time.Millisecond))
		return
	case *time.Time:
		*value = time.Unix(f.n, 0).UTC()
		return
	case *map[string]string:
		*value = map[string]string{"setting": fmt.Sprint("value ", f.n)}
		return
	case *map[string][2]json.RawMessage:
		*value = map[string][2]json.RawMessage{"field": {json.RawMessage("null"), fmt.Appendf(nil, "%d", f.n)}}
		return
	case *[]*troupe.Definition:
		*value = []*troupe.Definition{{Kind: "agent", Name: fmt.Sprint("agent ", f.n)}}
		return
	case *map[string]any:
		*value = map[string]any{"key": fmt.Sprint("value ", f.n), "list": []any{1.5, true, nil}}
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				f.fill(v.Field(i))
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			f.fill(v.Index(i))
		}
	case reflect.String:
		v.SetString(fmt.Sprint("text ", f.n, " ☃"))
	case reflect.Int, reflect.Int64:
		v.SetInt(f.n)
	case reflect.Uint8:
		v.SetUint(uint64(f.n % 256))
	case reflect.Float64:
		v.SetFloat(float64(f.n) + 0.25)
	case reflect.Bool:
		v.SetBool(true)
	default:
		panic(fmt.Sprintf("an event has a field of type %s, which is not filled", v.Type()))
	}
}
