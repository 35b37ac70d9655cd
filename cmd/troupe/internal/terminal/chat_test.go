package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"github.com/troupe-dev/troupe"
)

// A session drives an interactive conversation on a screen. Time is fake.
type session struct {
	t       *testing.T
	screen  *screen
	program *tea.Program
	model   *model
	said    []string
	// answer is called for each message that is sent.
	answer func(ctx context.Context, text string, show func(*troupe.Event)) error
	result error
	done   chan struct{}
}

// on runs a test with a session on a screen of some size.
func on(t *testing.T, width, height int, test func(*session)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &session{t: t, screen: newScreen(width, height), done: make(chan struct{})}
		s.answer = func(_ context.Context, text string, show func(*troupe.Event)) error {
			show(reply("You said: " + text))
			return nil
		}
		s.model = newModel(t.Context(), Config{
			Agent: "Mira", Model: "test/model",
			Choose: func(_ context.Context, text string) (now Answering, ok bool, err error) {
				ref, ok := strings.CutPrefix(text, "/model ")
				if ref == "nobody/none" {
					return now, ok, errors.New("no provider is called nobody")
				}
				return Answering{Said: "now " + ref, Model: ref, Window: 800}, ok, nil
			},
			Leaves:   func(text string) bool { return text == "*exit" },
			Commands: []Command{{"*help", "Show what I can do"}, {"*decide", "Think it through"}, {"*second-opinion", "Ask Bruno"}},
			Say: func(ctx context.Context, text string, show func(*troupe.Event)) error {
				s.said = append(s.said, text)
				return s.answer(ctx, text, show)
			},
		}, &history{})
		keys, hands := io.Pipe()
		s.program = tea.NewProgram(&guard{model: s.model}, tea.WithInput(keys), tea.WithOutput(s.screen), tea.WithWindowSize(width, height),
			tea.WithoutSignalHandler(), tea.WithColorProfile(colorprofile.ASCII), tea.WithEnvironment([]string{"TERM=xterm"}))
		s.model.send = s.program.Send
		go func() {
			defer close(s.done)
			_, s.result = s.program.Run()
		}()
		s.settle()
		test(s)
		s.program.Quit()
		hands.Close()
		<-s.done
		s.model.turns.Wait()
	})
}

// settle lets everything be drawn that is to be drawn.
func (s *session) settle() {
	time.Sleep(time.Second)
	synctest.Wait()
}

// press presses keys: a word in angle brackets is one key, all else is typed.
func (s *session) press(keys ...string) {
	named := map[string]tea.Key{
		"<enter>": {Code: tea.KeyEnter}, "<tab>": {Code: tea.KeyTab}, "<up>": {Code: tea.KeyUp}, "<down>": {Code: tea.KeyDown},
		"<esc>": {Code: tea.KeyEscape}, "<ctrl-c>": {Code: 'c', Mod: tea.ModCtrl}, "<ctrl-d>": {Code: 'd', Mod: tea.ModCtrl},
		"<alt-enter>": {Code: tea.KeyEnter, Mod: tea.ModAlt},
	}
	for _, word := range keys {
		if key, ok := named[word]; ok {
			s.program.Send(tea.KeyPressMsg(key))
		} else {
			for _, r := range word {
				s.program.Send(tea.KeyPressMsg(tea.Key{Code: r, Text: string(r)}))
			}
		}
		s.settle()
	}
}

func (s *session) sees(parts ...string) {
	s.t.Helper()
	all := s.screen.all()
	for _, part := range parts {
		if !strings.Contains(all, part) {
			s.t.Errorf("%q is not on the screen:\n%s", part, all)
		}
	}
}

func (s *session) seesNot(parts ...string) {
	s.t.Helper()
	all := s.screen.all()
	for _, part := range parts {
		if strings.Contains(all, part) {
			s.t.Errorf("%q is on the screen:\n%s", part, all)
		}
	}
}

func (s *session) hasLeft() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

func reply(text string) *troupe.Event {
	return &troupe.Event{Body: &troupe.ModelReplied{
		Message: &troupe.Message{Text: text}, Usage: troupe.Usage{Input: 1000, Output: 234}, Cost: 0.0125,
	}}
}

func delta(text string, attempt int) *troupe.Event {
	return &troupe.Event{Body: &troupe.TextDelta{Text: text, Attempt: attempt}}
}

func TestAMessageIsAnswered(t *testing.T) {
	on(t, 60, 20, func(s *session) {
		s.press("hello there", "<enter>")
		s.sees("› hello there\n\nYou said: hello there\n\n›\nMira · test/model · 1,234 tokens · $0.0125")
	})
}

func TestAReplyIsShownWhileItGrows(t *testing.T) {
	on(t, 60, 20, func(s *session) {
		more := make(chan string)
		s.answer = func(_ context.Context, _ string, show func(*troupe.Event)) error {
			attempt := 1
			for text := range more {
				if text == "again" {
					attempt++
					continue
				}
				show(delta(text, attempt))
			}
			show(reply("All **of** it."))
			return nil
		}
		s.press("go", "<enter>")
		s.sees("waiting")
		more <- "The *beginning* "
		s.settle()
		s.sees("› go\n\nThe *beginning*\n\n", "writing")
		more <- "again"
		more <- "Anew"
		s.settle()
		s.sees("Anew")
		s.seesNot("beginning")
		close(more)
		s.settle()
		s.sees("› go\n\nAll **of** it.\n\n›\nMira")
		s.seesNot("Anew", "writing")
	})
}

// A reply that is longer than the screen is printed in pieces that fit above the
// view; none of it may be lost, and nothing of the view may stay behind.
func TestALongReplyIsPrintedWhole(t *testing.T) {
	for _, height := range []int{6, 10, 24} {
		on(t, 40, height, func(s *session) {
			var want []string
			for i := range 100 {
				want = append(want, fmt.Sprintf("Line %d of many.", i))
			}
			text := strings.Join(want, "\n\n")
			s.answer = func(_ context.Context, _ string, show func(*troupe.Event)) error {
				for piece := range strings.SplitAfterSeq(text, " ") {
					show(delta(piece, 1))
				}
				time.Sleep(time.Second)
				show(reply(text))
				return nil
			}
			s.press("go", "<enter>")
			time.Sleep(10 * time.Second)
			s.settle()
			if want := "› go\n\n" + text + "\n\n›\nMira · test/model · 1,234 tokens"; !strings.HasPrefix(s.screen.all(), want) {
				t.Errorf("height %d:\n%s", height, s.screen.all())
			}
		})
	}
}

func TestALongReplyIsPrintedWholeAboveADraft(t *testing.T) {
	on(t, 40, 14, func(s *session) {
		text := strings.TrimSpace(strings.Repeat("A line.\n\n", 50))
		proceed := make(chan struct{})
		s.answer = func(_ context.Context, _ string, show func(*troupe.Event)) error {
			<-proceed
			show(reply(text))
			return nil
		}
		s.press("go", "<enter>")
		for range 5 {
			s.press("draft", "<alt-enter>")
		}
		close(proceed)
		s.settle()
		if want := "› go\n\n" + text + "\n\n"; !strings.HasPrefix(s.screen.all(), want) {
			t.Errorf("the screen:\n%s", s.screen.all())
		}
	})
}

func TestCommandsAreCompleted(t *testing.T) {
	on(t, 60, 20, func(s *session) {
		s.press("*")
		s.sees("› *help            Show what I can do\n  *decide          Think it through\n  *second-opinion  Ask Bruno\n› *")
		s.press("d")
		s.sees("› *decide          Think it through\n  *second-opinion  Ask Bruno\n› *d\n")
		s.seesNot("*help")
		s.press("<down>", "<tab>")
		s.sees("› *second-opinion\nMira")
		s.seesNot("Ask Bruno")
		s.press("<ctrl-c>", "*d", "<enter>")
		if len(s.said) != 0 {
			t.Errorf("enter sent %q in place of choosing", s.said)
		}
		s.press("<enter>")
		if len(s.said) != 1 || s.said[0] != "*decide" {
			t.Errorf("said %q", s.said)
		}
		s.press("*", "<esc>")
		s.seesNot("Show what I can do")
	})
}

func TestEarlierMessagesComeBack(t *testing.T) {
	on(t, 60, 20, func(s *session) {
		s.press("one", "<enter>", "two", "<enter>", "draft", "<up>")
		s.sees("\n› two\nMira")
		s.press("<up>", "<up>")
		s.sees("\n› one\nMira")
		s.press("<down>", "<down>", "<down>")
		s.sees("\n› draft\nMira")
	})
}

func TestAMessageMayHaveSeveralLines(t *testing.T) {
	on(t, 60, 20, func(s *session) {
		s.press("one", "<alt-enter>", "two", "<up>", "<enter>")
		if len(s.said) != 1 || s.said[0] != "one\ntwo" {
			t.Errorf("said %q", s.said)
		}
	})
}

func TestCtrlCStopsTheReplyAndNotTheProgram(t *testing.T) {
	on(t, 60, 20, func(s *session) {
		s.answer = func(ctx context.Context, _ string, show func(*troupe.Event)) error {
			show(delta("Half of", 1))
			<-ctx.Done()
			show(&troupe.Event{Body: &troupe.Warned{Code: "x", Message: "nobody needs to know"}})
			show(&troupe.Event{Body: &troupe.RunCancelled{Partial: "Half of"}})
			return context.Cause(ctx)
		}
		s.press("go", "<enter>", "next", "<enter>")
		s.sees("wait for the reply")
		s.press("<ctrl-c>")
		s.sees("› go\n\nHalf of\n  stopped\n\n› next\nMira")
		s.seesNot("nobody needs to know")
		if len(s.said) != 1 || s.hasLeft() {
			t.Errorf("said %q, left %v", s.said, s.hasLeft())
		}
	})
}

func TestTheSecondCtrlCAtAnEmptyPromptLeaves(t *testing.T) {
	on(t, 60, 20, func(s *session) {
		s.press("text", "<ctrl-c>")
		s.seesNot("text")
		s.press("<ctrl-c>")
		s.sees("press ctrl-C again to leave")
		s.press("x", "<ctrl-c>", "<ctrl-c>")
		if s.hasLeft() {
			t.Error("it left, although something was typed in between")
		}
		s.press("<ctrl-c>")
		if !s.hasLeft() || s.result != nil {
			t.Errorf("left %v: %v", s.hasLeft(), s.result)
		}
		s.seesNot("Mira", "›")
	})
}

func TestCtrlDLeavesAndStopsTheReply(t *testing.T) {
	on(t, 60, 20, func(s *session) {
		stopped := false
		s.answer = func(ctx context.Context, _ string, _ func(*troupe.Event)) error {
			<-ctx.Done()
			stopped = true
			return context.Cause(ctx)
		}
		s.press("go", "<enter>", "<ctrl-d>")
		if !s.hasLeft() || !stopped {
			t.Errorf("left %v, stopped %v", s.hasLeft(), stopped)
		}
	})
}

func TestQuitAndExitLeaveWithoutAskingTheModel(t *testing.T) {
	for _, word := range []string{"/quit", " /exit "} {
		on(t, 60, 20, func(s *session) {
			s.answer = func(context.Context, string, func(*troupe.Event)) error {
				t.Errorf("%s went to the model", word)
				return nil
			}
			s.press(word, "<enter>")
			if !s.hasLeft() || s.result != nil {
				t.Errorf("%s: left %v: %v", word, s.hasLeft(), s.result)
			}
		})
	}
}

// The agent says goodbye, and then the chat is over; but not if it could not answer.
func TestAMessageMayMeanToLeave(t *testing.T) {
	on(t, 60, 20, func(s *session) {
		answer := s.answer
		s.answer = func(context.Context, string, func(*troupe.Event)) error { return errors.New("broken line") }
		s.press("*exit", "<enter>")
		if s.hasLeft() {
			t.Error("it left without an answer")
		}
		s.answer = answer
		s.press("hello", "<enter>", "*exit", "<enter>")
		s.sees("You said: *exit")
		if !s.hasLeft() || s.result != nil {
			t.Errorf("left %v: %v", s.hasLeft(), s.result)
		}
	})
}

func TestToolsAreShownWithTimeAndOutcome(t *testing.T) {
	on(t, 70, 20, func(s *session) {
		proceed := make(chan struct{})
		s.answer = func(_ context.Context, _ string, show func(*troupe.Event)) error {
			show(&troupe.Event{Body: &troupe.ToolCalled{CallID: "1", Tool: "read_file", Arguments: `{"file_path":"a.md"}`}})
			<-proceed
			show(&troupe.Event{Body: &troupe.ToolReturned{CallID: "1", Tool: "read_file", Duration: troupe.Millis(1500 * time.Millisecond)}})
			show(&troupe.Event{Parent: "x", Agent: "bruno", Body: &troupe.ToolCalled{CallID: "2", Tool: "x"}})
			show(&troupe.Event{Parent: "x", Agent: "bruno", Body: &troupe.ToolReturned{CallID: "2", Tool: "x", Class: "failed", Error: "disk\nfull"}})
			show(&troupe.Event{Parent: "x", Body: &troupe.ModelReplied{Message: &troupe.Message{Text: "Not for you."}}})
			show(&troupe.Event{Body: &troupe.RunFinished{Output: troupe.Handoff{Summary: "Enough."}, Stop: "turns"}})
			return nil
		}
		s.press("go", "<enter>")
		s.sees("⠋ read_file a.md"[4:])
		close(proceed)
		s.settle()
		s.sees("› go\n  read_file a.md · 1.5 s\n  ✗ bruno: x: failed: disk full · 0 µs\n\nEnough.\n  ! not finished: The run has asked the model as often as it may.", "limits.turns.\n\n›")
		s.seesNot("Not for you")
	})
}

func TestAFailureIsShownAndTheConversationGoesOn(t *testing.T) {
	on(t, 70, 20, func(s *session) {
		s.answer = func(context.Context, string, func(*troupe.Event)) error {
			return errors.New("model: \x1b[31mno answer")
		}
		s.press("go", "<enter>")
		s.sees("› go\n  model: [31mno answer\n\n›\nMira")
	})
}

func TestANarrowTerminalIsNotOverrun(t *testing.T) {
	on(t, 12, 8, func(s *session) {
		s.answer = func(_ context.Context, _ string, show func(*troupe.Event)) error {
			show(reply("One two three four five sixseveneightnineteneleven."))
			return nil
		}
		s.press("a message of some length", "<enter>")
		s.sees("One two", "sixseveneigh", "tninetenelev", "Mira · tes…")
	})
}

func TestAPanicEndsTheProgramInGoodOrder(t *testing.T) {
	g := &guard{model: panics{}}
	if _, cmd := g.Update(nil); cmd == nil || cmd() != (tea.QuitMsg{}) {
		t.Error("it does not quit")
	}
	g.View()
	crash, ok := errors.AsType[*Crash](g.crash())
	if !ok || crash.Error() != "panic: oops" || !strings.Contains(string(crash.Stack), "panics") {
		t.Errorf("crash %v", crash)
	}
}

type panics struct{}

func (panics) Init() tea.Cmd                       { panic("oops") }
func (panics) Update(tea.Msg) (tea.Model, tea.Cmd) { panic("oops") }
func (panics) View() tea.View                      { panic("oops") }

func TestALongWaitIsCounted(t *testing.T) {
	on(t, 60, 20, func(s *session) {
		more := make(chan struct{})
		s.answer = func(_ context.Context, _ string, show func(*troupe.Event)) error {
			<-more
			show(reply("Done."))
			return nil
		}
		s.press("go", "<enter>")
		s.sees("waiting")
		time.Sleep(39 * time.Second)
		s.settle()
		s.sees("waiting for the model, 40 s")
		close(more)
		s.settle()
		s.sees("Done.")
		s.seesNot("waiting")
	})
}

func TestWhatTakesLongIsCounted(t *testing.T) {
	on(t, 60, 20, func(s *session) {
		more := make(chan struct{})
		s.answer = func(_ context.Context, _ string, show func(*troupe.Event)) error {
			show(&troupe.Event{Run: "r", Body: &troupe.ToolCalled{Tool: "search", CallID: "1", Arguments: `{"query": "orders"}`}})
			<-more
			show(&troupe.Event{Run: "r", Body: &troupe.ToolReturned{Tool: "search", CallID: "1"}})
			for range 40 {
				show(delta("more ", 1))
				time.Sleep(100 * time.Millisecond)
			}
			return nil
		}
		s.press("go", "<enter>")
		s.settle()
		s.sees("search orders")
		s.seesNot("search orders ·")
		time.Sleep(8 * time.Second)
		s.settle()
		s.sees("search orders · 10 s")
		more <- struct{}{}
		time.Sleep(2 * time.Second)
		s.sees("writing, 1")
	})
}

func TestWhatIsSavedIsNamedByItsPlaceOnce(t *testing.T) {
	on(t, 60, 20, func(s *session) {
		s.model.config.Where = func(name string) string { return "data/" + name }
		s.answer = func(_ context.Context, _ string, show func(*troupe.Event)) error {
			for range 2 {
				show(&troupe.Event{Parent: "r", Body: &troupe.ArtifactSaved{Path: "plan.md"}})
			}
			show(reply("Done."))
			return nil
		}
		s.press("go", "<enter>")
		s.settle()
		s.sees("› go\n  saved data/plan.md\n\nDone.")
	})
}

func TestTheModelIsShownAndChanged(t *testing.T) {
	on(t, 100, 20, func(s *session) {
		s.press("/model other/model", "<enter>")
		s.settle()
		s.sees("now other/model", "Mira · other/model")
		s.answer = func(_ context.Context, text string, show func(*troupe.Event)) error {
			said := reply("You said: " + text)
			replied := said.Body.(*troupe.ModelReplied)
			replied.Usage.Input, replied.Context = 400, troupe.ContextUse{History: 300, Window: 1000}
			show(said)
			return nil
		}
		s.press("How full is it", "<enter>")
		s.sees("window 40 % full")
		s.press("/model other/model", "<enter>")
		s.settle()
		s.sees("window 50 % full")
		s.press("/model nobody/none", "<enter>")
		s.settle()
		s.sees("no provider is called nobody", "Mira · other/model")
		s.press("hello", "<enter>")
		s.sees("You said: hello")
	})
}

func TestAFailureIsExplained(t *testing.T) {
	on(t, 100, 20, func(s *session) {
		s.answer = func(_ context.Context, _ string, show func(*troupe.Event)) error {
			show(&troupe.Event{Body: &troupe.ModelFailed{Attempt: 1, Error: "model: 529: busy", Reason: "overloaded", RetryIn: troupe.Millis(2 * time.Second)}})
			return fmt.Errorf("agent mira: %w", &troupe.ModelError{Status: 401, Reason: "key", Message: "no such key"})
		}
		s.press("go", "<enter>")
		s.settle()
		s.sees("! The provider has trouble of its own. Troupe asks again in 2 seconds.", "The provider does not accept the key.", "troupe doctor", "details: agent mira: model: 401: no such key")
	})
}

func TestAnAnswerThatReachesTheOutputLimitIsPrintedOnce(t *testing.T) {
	on(t, 60, 20, func(s *session) {
		more := make(chan bool)
		s.answer = func(_ context.Context, _ string, show func(*troupe.Event)) error {
			show(delta("One, tw", 1))
			show(&troupe.Event{Body: &troupe.ModelReplied{Message: &troupe.Message{Text: "One, tw"}, Finish: troupe.FinishLength}})
			<-more
			show(delta("o, three.", 1))
			<-more
			show(reply("o, three."))
			show(&troupe.Event{Body: &troupe.RunFinished{Output: troupe.Handoff{Summary: "One, two, three."}, Stop: "answered"}})
			return nil
		}
		s.press("count", "<enter>")
		s.sees("› count\n\nOne, tw\n")
		more <- true
		s.settle()
		s.sees("› count\n\nOne, two, three.\n")
		more <- true
		s.settle()
		s.sees("› count\n\nOne, two, three.\n\n›\nMira")
		if n := strings.Count(s.screen.all(), "three"); n != 1 {
			t.Errorf("it is there %d times:\n%s", n, s.screen.all())
		}
	})
}

// What the model would be asked for nothing is answered here.
func TestCommandsOfTheProgramAreNotSentToTheAgent(t *testing.T) {
	on(t, 100, 24, func(s *session) {
		s.model.config.Commands = append(s.model.config.Commands, Command{"/own", "The agent's own"})
		s.press("/help", "<enter>")
		s.sees("*decide          Think it through", "/help            Show this list", "/quit            Leave")
		s.press("/foo", "<enter>")
		s.sees("There is no command /foo, and the agent was not asked. /help lists those there are.")
		if len(s.said) != 0 {
			t.Errorf("sent: %q", s.said)
		}
		for _, text := range []string{"/own", "/etc/hosts", "/tmp is full"} {
			s.press(text, "<enter>")
			s.sees("You said: " + text)
		}
	})
}
