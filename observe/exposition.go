package observe

import (
	"bytes"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// WritePrometheus writes all metrics in Prometheus' text format, version 0.0.4,
// whose content type is "text/plain; version=0.0.4; charset=utf-8". The order is
// always the same.
func (m *Metrics) WritePrometheus(w io.Writer) error {
	var b bytes.Buffer
	m.mu.Lock()
	for _, f := range m.list {
		f.expose(&b)
	}
	m.mu.Unlock()
	_, err := b.WriteTo(w)
	return err
}

func (f *family) expose(b *bytes.Buffer) {
	b.WriteString("# HELP " + f.name + " " + f.help + "\n# TYPE " + f.name + " " + string(f.kind) + "\n")
	for _, values := range f.sorted() {
		s, labels := f.series[values], f.labelled(values)
		if f.kind != histogram {
			sample(b, f.name, labels, s.value)
			continue
		}
		for i, bound := range f.buckets {
			sample(b, f.name+"_bucket", labels+`,le="`+number(bound)+`"`, float64(s.buckets[i]))
		}
		sample(b, f.name+"_bucket", labels+`,le="+Inf"`, float64(s.count))
		sample(b, f.name+"_sum", labels, s.value)
		sample(b, f.name+"_count", labels, float64(s.count))
	}
}

func (f *family) sorted() []labelValues {
	return slices.SortedFunc(maps.Keys(f.series), func(a, b labelValues) int { return slices.Compare(a[:], b[:]) })
}

// labelled renders label names and values. Every family has a label that has a value.
func (f *family) labelled(values labelValues) string {
	escape := strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
	var pairs []string
	for i, label := range f.labels {
		if values[i] != "" {
			pairs = append(pairs, label+`="`+escape.Replace(values[i])+`"`)
		}
	}
	return strings.Join(pairs, ",")
}

func sample(b *bytes.Buffer, name, labels string, v float64) {
	b.WriteString(name + "{" + labels + "} " + number(v) + "\n")
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
