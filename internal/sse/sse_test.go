package sse

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// plain is an Event whose fields outlive the reader's buffers.
type plain struct {
	Name, ID, Data string
	Retry          time.Duration
	Cut            bool
}

func readAll(src io.Reader, maxLine int) ([]plain, error) {
	r := NewReader(src, maxLine)
	var all []plain
	for {
		e, err := r.Next()
		if err != nil {
			return all, err
		}
		all = append(all, plain{string(e.Name), string(e.ID), string(e.Data), e.Retry, e.Cut})
	}
}

func TestReaderFollowsTheStandard(t *testing.T) {
	tests := map[string]struct {
		stream string
		want   []plain
	}{
		"line feeds":              {"data: a\n\ndata: b\n\n", []plain{{Data: "a"}, {Data: "b"}}},
		"carriage returns":        {"data: a\r\rdata: b\r\r", []plain{{Data: "a"}, {Data: "b"}}},
		"both":                    {"data: a\r\n\r\ndata: b\r\n\r\n", []plain{{Data: "a"}, {Data: "b"}}},
		"mixed ends":              {"data: a\r\ndata: b\rdata: c\n\r", []plain{{Data: "a\nb\nc"}}},
		"no space":                {"data:a\n\n", []plain{{Data: "a"}}},
		"one space only":          {"data:  a\n\n", []plain{{Data: " a"}}},
		"comments":                {": hello\n\n:\n\ndata: a\n: in between\n\n", []plain{{Data: "a"}}},
		"fields":                  {"event: tick\nid: 7\nretry: 1500\ndata: x\n\ndata: y\n\n", []plain{{"tick", "7", "x", 1500 * time.Millisecond, false}, {"", "7", "y", 1500 * time.Millisecond, false}}},
		"empty data":              {"data\n\n", []plain{{}}},
		"empty data lines":        {"data\ndata\n\n", []plain{{Data: "\n"}}},
		"name without data":       {"event: a\n\ndata: b\n\n", []plain{{Data: "b"}}},
		"byte order mark":         {"\ufeffdata: a\n\n", []plain{{Data: "a"}}},
		"a later mark is no mark": {"data: a\n\n\ufeffdata: b\n\n", []plain{{Data: "a"}}},
		"id with NUL":             {"id: 1\ndata: a\n\nid: 2\x00\ndata: b\n\n", []plain{{ID: "1", Data: "a"}, {ID: "1", Data: "b"}}},
		"bad retry":               {"retry: 1s\ndata: a\n\n", []plain{{Data: "a"}}},
		"unknown field":           {"bata: a\n data: c\ndata: b\n\n", []plain{{Data: "b"}}},
		"no final blank line":     {"data: a\n\ndata: b\n", []plain{{Data: "a"}, {Data: "b", Cut: true}}},
		"no final line end":       {"data: a\n\ndata: b", []plain{{Data: "a"}, {Data: "b", Cut: true}}},
		"nothing":                 {"", nil},
		"only a name at the end":  {"event: a", nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := readAll(strings.NewReader(test.stream), 0)
			if err != io.EOF {
				t.Errorf("read ended with %v, want EOF", err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReaderDeliversAnEventWithItsLastByte(t *testing.T) {
	for _, stream := range []string{"data: a\n\n", "data: a\r\r", "data: a\r\n\r"} {
		in, out := io.Pipe()
		go out.Write([]byte(stream)) // and the pipe stays open
		e, err := NewReader(in, 0).Next()
		if err != nil || string(e.Data) != "a" {
			t.Errorf("%q: got %q, %v", stream, e.Data, err)
		}
		in.Close()
	}
}

func TestReaderRefusesWhatIsTooLong(t *testing.T) {
	long := strings.Repeat("x", 100)
	for name, stream := range map[string]string{
		"a line":           "data: " + long + "\n\n",
		"a line unended":   "data: " + long,
		"a comment":        ": " + long,
		"an event":         strings.Repeat("data: 1234567890\n", 10) + "\n",
		"an event of void": strings.Repeat("data\n", 100) + "\n",
	} {
		if got, err := readAll(strings.NewReader(stream), 64); !errors.Is(err, ErrTooLong) {
			t.Errorf("%s: got %v, %v, want ErrTooLong", name, got, err)
		}
	}
	if _, err := readAll(strings.NewReader("data: "+long+"\n\n"), 106); err != io.EOF {
		t.Errorf("a line of just the limit: %v", err)
	}
}

func TestReaderDeliversWhatCameBeforeAnError(t *testing.T) {
	broken := errors.New("connection reset")
	src := iotest.DataErrReader(io.MultiReader(strings.NewReader("data: a\n\ndata: b\n"), iotest.ErrReader(broken)))
	got, err := readAll(src, 0)
	if err != broken {
		t.Errorf("got error %v, want %v", err, broken)
	}
	if diff := cmp.Diff([]plain{{Data: "a"}}, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestReaderGivesUpOnAStreamWithoutProgress(t *testing.T) {
	if _, err := NewReader(idle{}, 0).Next(); err != io.ErrNoProgress {
		t.Errorf("got %v, want %v", err, io.ErrNoProgress)
	}
}

type idle struct{}

func (idle) Read([]byte) (int, error) { return 0, nil }

func TestReaderAllocatesNothingPerEvent(t *testing.T) {
	r := NewReader(&endless{line: []byte("id: 1\nevent: e\ndata: {\"a\":1}\n\n")}, 0)
	for range 1000 {
		r.Next()
	}
	if n := testing.AllocsPerRun(1000, func() { r.Next() }); n != 0 {
		t.Errorf("%v allocations per event", n)
	}
}

// endless repeats a line for ever.
type endless struct{ line, rest []byte }

func (e *endless) Read(p []byte) (int, error) {
	if len(e.rest) == 0 {
		e.rest = e.line
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

func TestWriterWritesWhatReadersExpect(t *testing.T) {
	var out bytes.Buffer
	flushes := 0
	w := NewWriter(&out, func() error { flushes++; return nil })
	for _, e := range []Event{
		{Name: []byte("tick"), ID: []byte("7"), Retry: 2 * time.Second, Data: []byte("a\r\nb\rc\nd")},
		{},
	} {
		if err := w.Write(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Comment("still\nhere"); err != nil {
		t.Fatal(err)
	}
	want := "event: tick\nid: 7\nretry: 2000\ndata: a\ndata: b\ndata: c\ndata: d\n\ndata: \n\n: still\n: here\n\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("stream (-want +got):\n%s", diff)
	}
	if flushes != 3 {
		t.Errorf("%d flushes, want 3", flushes)
	}
}

func TestWriterRefusesFieldsThatWouldForgeLines(t *testing.T) {
	var out bytes.Buffer
	w := NewWriter(&out, nil)
	for _, e := range []Event{{Name: []byte("a\ndata: x")}, {ID: []byte("1\r2")}, {ID: []byte("1\x002")}} {
		if err := w.Write(e); !errors.Is(err, ErrBadField) {
			t.Errorf("%q %q: got %v, want ErrBadField", e.Name, e.ID, err)
		}
	}
	if out.Len() > 0 {
		t.Errorf("wrote %q", &out)
	}
}

func TestWriterReportsErrors(t *testing.T) {
	broken := errors.New("gone")
	if err := NewWriter(io.Discard, func() error { return broken }).Comment(""); err != broken {
		t.Errorf("flush: got %v", err)
	}
	in, out := io.Pipe()
	in.CloseWithError(broken)
	if err := NewWriter(out, nil).Write(Event{}); err != broken {
		t.Errorf("write: got %v", err)
	}
}

func FuzzReader(f *testing.F) {
	for _, seed := range []string{
		"data: a\n\n", "\ufeffdata: a\r\n\r\n: c\rid:1\rretry: 3\rdata:b\r\r", "event: x\ndata\ndata: \xff\n\n", "data: cut",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		whole, err := readAll(bytes.NewReader(stream), 256)
		piecewise, errPiecewise := readAll(iotest.OneByteReader(bytes.NewReader(stream)), 256)
		if err != errPiecewise {
			t.Fatalf("at once: %v; byte by byte: %v", err, errPiecewise)
		}
		if diff := cmp.Diff(whole, piecewise); diff != "" {
			t.Fatalf("at once against byte by byte:\n%s", diff)
		}
		if err == io.EOF {
			checkRoundTrip(t, whole)
		}
	})
}

func checkRoundTrip(t *testing.T, events []plain) {
	var out bytes.Buffer
	w := NewWriter(&out, nil)
	for i, e := range events {
		events[i].Cut = false
		if err := w.Write(Event{Name: []byte(e.Name), ID: []byte(e.ID), Data: []byte(e.Data), Retry: e.Retry}); err != nil {
			t.Fatalf("write %+v: %v", e, err)
		}
	}
	again, err := readAll(&out, 0)
	if err != io.EOF {
		t.Fatalf("read what was written: %v", err)
	}
	keepWhatIsNotTakenBack(events)
	if diff := cmp.Diff(events, again); diff != "" {
		t.Fatalf("after a round trip (-want +got):\n%s", diff)
	}
}

// keepWhatIsNotTakenBack accounts for an id or retry time that the stream took back
// to nothing, which a Writer does not say: the earlier one stands.
func keepWhatIsNotTakenBack(events []plain) {
	for i := 1; i < len(events); i++ {
		if events[i].ID == "" {
			events[i].ID = events[i-1].ID
		}
		if events[i].Retry == 0 {
			events[i].Retry = events[i-1].Retry
		}
	}
}

func BenchmarkReader(b *testing.B) {
	stream := []byte(strings.Repeat("data: "+strings.Repeat("x", 300)+"\n\n", 1000))
	b.SetBytes(int64(len(stream)))
	b.ReportAllocs()
	for b.Loop() {
		r := NewReader(bytes.NewReader(stream), 0)
		for {
			if _, err := r.Next(); err != nil {
				break
			}
		}
	}
}
