package observe_test

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/slogtest"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/observe"
)

// localNoon is shown as 12:00:00 wherever the test runs.
var localNoon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.Local)

func TestTheConsoleIsForPeople(t *testing.T) {
	t.Attr("FR", "FR-032")
	returned := troupe.Event{
		Seq: 4, Time: localNoon, Session: "s", Run: "r", Step: "2/0", Agent: "mira",
		Body: &troupe.ToolReturned{Tool: "read_file", Duration: troupe.Millis(12 * time.Millisecond), Content: "a b", Size: 3},
	}
	for ids, want := range map[bool]string{
		false: "12:00:00.000 INFO  mira  tool returned  tool=read_file dur=12ms result=\"a b\" size=3\n",
		true:  "12:00:00.000 INFO  mira  tool returned  session=s run=r kind=tool_returned tool=read_file dur=12ms result=\"a b\" size=3 step=2/0 seq=4\n",
	} {
		var out bytes.Buffer
		observe.Log(observe.NewConsole(&out, observe.ConsoleOptions{IDs: ids})).Note(&returned)
		if out.String() != want {
			t.Errorf("got  %swant %s", out.String(), want)
		}
	}
}

func TestAStackIsShownBelow(t *testing.T) {
	t.Attr("FR", "FR-030")
	var out bytes.Buffer
	record := slog.NewRecord(localNoon, slog.LevelError, "run failed", 0)
	record.Add("err", errors.New("crash: nil"), "stack", "goroutine 1:\n\tmain.go:3\n\x1b]0;x\a")
	if err := observe.NewConsole(&out, observe.ConsoleOptions{}).Handle(t.Context(), record); err != nil {
		t.Fatal(err)
	}
	want := "12:00:00.000 ERROR run failed  err=\"crash: nil\"\n    goroutine 1:\n        main.go:3\n    \\x1b]0;x\\a\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}

func TestColoursGoByLevelAndAgent(t *testing.T) {
	t.Attr("FR", "FR-029c")
	show := func(level slog.Level, agent string) string {
		var out bytes.Buffer
		log := slog.New(observe.NewConsole(&out, observe.ConsoleOptions{Colour: true, Level: slog.LevelDebug}))
		log.Log(t.Context(), level, "m", "agent", agent, "err", "x")
		return out.String()
	}
	shape := regexp.MustCompile(`^\x1b\[2m\S+\x1b\[0m (\x1b\[\d+m)\w+ *\x1b\[0m (\x1b\[38;5;\d+m)\w+\x1b\[0m  m  \x1b\[2merr=\x1b\[0m\x1b\[31mx\x1b\[0m\n$`)
	levels, agents, colours := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, level := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
		for _, agent := range []string{"mira", "noor", "alex", "sam"} {
			got := shape.FindStringSubmatch(show(level, agent))
			if got == nil {
				t.Fatalf("%q", show(level, agent))
			}
			levels[level.String()+got[1]], agents[agent+got[2]], colours[got[2]] = true, true, true
		}
	}
	if len(colours) < 2 {
		t.Error("all agents have the same colour")
	}
	if len(levels) != 4 || len(agents) != 4 {
		t.Errorf("colours change with something else: %v %v", levels, agents)
	}
}

func TestNothingInvisibleReachesATerminal(t *testing.T) {
	var odd strings.Builder
	for r := range rune(0x3100) {
		odd.WriteRune(r)
	}
	odd.WriteString("\u3164\ufe0f\ufeff\ufff9\U000e0041\U000e0100\xff\xc3(\x1b[2J\x9b31m")
	for _, colour := range []bool{false, true} {
		var out bytes.Buffer
		log := slog.New(observe.NewConsole(&out, observe.ConsoleOptions{Colour: colour}))
		log.Info(odd.String(), odd.String(), odd.String(), "agent", odd.String(), "stack", odd.String(),
			slog.Group(odd.String(), "err", errors.New(odd.String())))
		checkVisible(t, out.String())
	}
}

// checkVisible fails if there is anything in text but ends of lines, the console's
// own colours, and what can be seen.
func checkVisible(t *testing.T, text string) {
	t.Helper()
	text = regexp.MustCompile("\x1b\\[[0-9;]+m").ReplaceAllString(text, "")
	if !utf8.ValidString(text) {
		t.Error("not UTF-8")
	}
	for _, r := range text {
		if r != '\n' && (unicode.In(r, unicode.C, unicode.Zl, unicode.Zp, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) || !unicode.IsGraphic(r)) {
			t.Fatalf("%U came through", r)
		}
	}
}

// Whatever a value is, it cannot pose as another line or another attribute.
func FuzzConsoleKeepsValuesApart(f *testing.F) {
	f.Add("plain", "k")
	f.Add("x\" err=forged\n12:00:00.000 INFO", "a=b")
	f.Add(`\" \`, "\u202e")
	f.Add("", "")
	f.Fuzz(func(t *testing.T, value, key string) {
		var out bytes.Buffer
		record := slog.NewRecord(time.Time{}, slog.LevelInfo, "m", 0)
		record.Add("first", value, "k"+key, "v")
		if err := observe.NewConsole(&out, observe.ConsoleOptions{}).Handle(t.Context(), record); err != nil {
			t.Fatal(err)
		}
		checkVisible(t, out.String())
		if strings.Count(out.String(), "\n") != 1 {
			t.Fatalf("more than one line: %q", out.String())
		}
		if got := pairs(t, strings.TrimPrefix(out.String(), "INFO  m  ")); len(got) != 2 || got[1][1] != "v" {
			t.Fatalf("%q is read as %q", out.String(), got)
		}
	})
}

// pairs reads key=value words, either of them in quotes or not.
func pairs(t *testing.T, text string) [][2]string {
	t.Helper()
	word := func() string {
		end := strings.IndexAny(text, " =\n")
		if strings.HasPrefix(text, `"`) {
			for end = 1; text[end] != '"'; end++ {
				if text[end] == '\\' {
					end++
				}
			}
			end++
		}
		got := text[:end]
		text = text[end:]
		if unquoted, err := strconv.Unquote(got); err == nil {
			got = unquoted
		}
		return got
	}
	var found [][2]string
	for text = strings.TrimLeft(text, " "); text != "\n"; text = strings.TrimLeft(text, " ") {
		key := word()
		if text[0] != '=' {
			t.Fatalf("no value for %q before %q", key, text)
		}
		text = text[1:]
		found = append(found, [2]string{key, word()})
	}
	return found
}

func TestTheConsoleIsAProperHandler(t *testing.T) {
	t.Attr("FR", "FR-029b")
	var out bytes.Buffer
	slogtest.Run(t, func(*testing.T) slog.Handler {
		out.Reset()
		return observe.NewConsole(&out, observe.ConsoleOptions{})
	}, func(t *testing.T) map[string]any {
		found := map[string]any{}
		line := out.String()
		if at := regexp.MustCompile(`^[0-9:.]{12} `).FindString(line); at != "" {
			found["time"], line = at, line[len(at):]
		}
		found["level"], line = line[:5], line[6:]
		message, rest, _ := strings.Cut(line, "  ")
		found["msg"] = strings.TrimSuffix(message, "\n")
		for _, pair := range pairs(t, strings.TrimSuffix(rest, "\n")+"\n") {
			at := found
			keys := strings.Split(pair[0], ".")
			for _, group := range keys[:len(keys)-1] {
				if at[group] == nil {
					at[group] = map[string]any{}
				}
				at = at[group].(map[string]any)
			}
			at[keys[len(keys)-1]] = pair[1]
		}
		return found
	})
}

func TestConcurrentRecordsDoNotMix(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(observe.NewConsole(&out, observe.ConsoleOptions{}))
	done := make(chan struct{})
	for _, name := range []string{"a", "b"} {
		go func() {
			defer func() { done <- struct{}{} }()
			for range 100 {
				log.With("agent", name).Info(name, "v", name)
			}
		}()
	}
	<-done
	<-done
	if n := strings.Count(out.String(), "a  a  v=a\n") + strings.Count(out.String(), "b  b  v=b\n"); n != 200 {
		t.Errorf("%d whole lines of 200", n)
	}
}

func BenchmarkConsole(b *testing.B) {
	sink := observe.Log(observe.NewConsole(io.Discard, observe.ConsoleOptions{Colour: true}))
	benchmarkSink(b, sink)
}

func TestAConsoleMaySayWhere(t *testing.T) {
	var b strings.Builder
	log := slog.New(observe.NewConsole(&b, observe.ConsoleOptions{Where: true}))
	log.Info("run started", "session", "0123456789abcdef", "agent", "mira", "task", "t")
	if !regexp.MustCompile(`^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} 01234567 INFO  mira  run started  task=t\n$`).MatchString(b.String()) {
		t.Errorf("got %q", b.String())
	}
}
