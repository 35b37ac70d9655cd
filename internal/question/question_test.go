package question

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// hasChoices checks how many choices texts have.
func hasChoices(t *testing.T, texts map[string]int) {
	t.Helper()
	for text, want := range texts {
		if found := Choices(text); len(found) != want {
			t.Errorf("%q has %d choices, want %d", text, len(found), want)
		}
	}
}

// Two lists are two questions: what is chosen from one would leave the other without an answer.
func TestTwoListsAreNoChoices(t *testing.T) {
	hasChoices(t, map[string]int{
		"Where?\n1. Here\n2. There":                                 2,
		"Where?\n1. Here\n1. There":                                 2,
		"Where?\n1. Here\n2. There\n\nHow many?\n1. One\n2. Two":    0,
		"Where?\n1. Here\n2. There\n   or near it\n3. Nowhere":      3,
		"Where?\na) Here\nb) There\n\nAnd when?\n\na) Now\nb) Then": 0,
	})
}

// Of several questions that are asked at once none is answered by a choice of another.
func TestChoicesOfOneQuestionAnswerNoOther(t *testing.T) {
	hasChoices(t, map[string]int{
		"Which colour?\n\n1. Red\n2. Blue":                       2,
		"What is your name?\n\nWhich colour?\n\n1. Red\n2. Blue": 0,
		"What is your name?\n\nWhich colour?\n1. Red\n2. Blue":   0,
		"What is your name?\n\nWhat next? [C] Continue [X] Exit": 0,
		"Which colour? Red or blue?\n\n1. Red\n2. Blue, or why?": 2,
	})
}

// Questions in a list are each to be answered: none is a choice, and none is left out.
func TestQuestionsInAListAreAllAsked(t *testing.T) {
	const list = "1. What is your name?\n2. Which colour do you like?"
	for answer, want := range map[string]string{
		"I need to know:\n\n" + list:                                          list,
		"Two things.\n\n" + list + "\n\nAnd which one, SQLite or PostgreSQL?": list + "\n\nAnd which one, SQLite or PostgreSQL?",
		"1. Name: what is it?\n2. Colour: which one (as a word)?":             "1. Name: what is it?\n2. Colour: which one (as a word)?",
	} {
		if asked, choices, ok := In(answer); !ok || choices != nil || asked != want {
			t.Errorf("%q asks %q with %d choices, %v", answer, asked, len(choices), ok)
		}
	}
	if _, choices, _ := In("Which one?\n\n1. Postgres\n2. None, or what would you do?"); len(choices) != 2 {
		t.Errorf("one choice that asks back leaves %d", len(choices))
	}
}

// A list may follow its question without an empty line between them, whatever was said before.
func TestAListRightBelowItsQuestion(t *testing.T) {
	for answer, want := range map[string]string{
		"It is written.\n\nWhich way?\n1. One bank\n2. Two":                    "Which way?\n1. One bank\n2. Two",
		"It is written.\n\nOne thing is open.\nWhich way?\n- a) One\n- b) Two": "One thing is open.\nWhich way?\n- a) One\n- b) Two",
		"Which way should it go?\n\nThe ways:\n1. One bank\n2. Two banks":      "Which way should it go?",
		"It is written. Which way should it recommend?\n\n1. One bank\n2. Two": "It is written. Which way should it recommend?",
	} {
		if asked, choices, ok := In(answer); !ok || len(choices) != 2 || asked != want {
			t.Errorf("%q asks %q with %d choices, %v", answer, asked, len(choices), ok)
		}
	}
	if asked, _, ok := In("It is done.\n\nWhat I did:\n1. Read it\n2. Wrote it"); ok {
		t.Errorf("a list that nobody is to choose from asks %q", asked)
	}
}

// Lists come with lines between what is listed, with a second line each, after an order, and
// with an X to exit with.
func TestListsAsModelsWriteThem(t *testing.T) {
	for answer, want := range map[string]struct {
		asked   string
		choices []Choice
	}{
		"Done.\n\nWhich colour?\n\n1. Red\n\n2. Green\n\n3. Blue":                      {"Which colour?", []Choice{{"Red", ""}, {"Green", ""}, {"Blue", ""}}},
		"Which?\n\n1. **Quick**\n   A sketch, today\n\n2. **Thorough**: all\n   of it": {"Which?", []Choice{{"Quick", "A sketch, today"}, {"Thorough", "all"}}},
		"It is done.\n\nPick one:\na) Red\nb) Green":                                   {"Pick one:\na) Red\nb) Green", []Choice{{"Red", ""}, {"Green", ""}}},
		"Choose a colour:\n\n1. Red\n2. Green":                                         {"Choose a colour:", []Choice{{"Red", ""}, {"Green", ""}}},
		"What next?\n\n- [C] Continue\n- [E] Edit\n- [X] Exit":                         {"What next?", []Choice{{"Continue", ""}, {"Edit", ""}, {"Exit", ""}}},
		"What next?\n\n[C] Continue\n[X] Exit":                                         {"What next?", []Choice{{"Continue", ""}, {"Exit", ""}}},
	} {
		asked, choices, ok := In(answer)
		if !ok || asked != want.asked || !slices.Equal(choices, want.choices) {
			t.Errorf("%q asks %q with %q, %v", answer, asked, choices, ok)
		}
	}
	for _, answer := range []string{
		"All is done:\n\n- [x] Read it\n- [X] Wrote it", "I chose these:\n\n1. Red\n\n2. Green", "This is which files I read:\n\n1. a.md\n2. b.md", "The steps:\n\n1. Read\n   all of it\n2. Write",
	} {
		if asked, choices, ok := In(answer); ok {
			t.Errorf("%q asks %q with %q", answer, asked, choices)
		}
	}
}

// all are choices that have labels only.
func all(labels ...string) (choices []Choice) {
	for _, label := range labels {
		choices = append(choices, Choice{Label: label})
	}
	return choices
}

// Agents put the menu that an answer ends with in one line.
func TestMenusInOneLine(t *testing.T) {
	usual := all("Advanced Elicitation", "Party Mode", "Continue")
	for menu, want := range map[string][]Choice{
		"**Select an Option:** [A] Advanced Elicitation [P] Party Mode [C] Continue":          usual,
		"**Select an Option:** [A] Advanced Elicitation / [P] Party Mode / [C] Continue":      usual,
		"**Select an Option:** [A] Advanced Elicitation | [P] Party Mode | [C] Continue":      usual,
		"Select an option: [A] Advanced Elicitation, [P] Party Mode, or [C] Continue.":        usual,
		"**Select:** **[A]** Advanced Elicitation · **[P]** Party Mode · **[C]** Continue":    usual,
		"**Select:** **[A] Advanced Elicitation** **[P] Party Mode** **[C] Continue**":        usual,
		"Select: [**A**] Advanced Elicitation [**P**] Party Mode [**C**] Continue":            usual,
		"Select: `[A] Advanced Elicitation` | `[P] Party Mode` | `[C] Continue`":              usual,
		"[A] Advanced Elicitation [P] Party Mode [C] Continue":                                usual,
		"> [a] Advanced Elicitation  [p] Party Mode  [c] Continue":                            usual,
		"**Select:** [A] Advanced Elicitation [P] Party Mode\n[C] Continue":                   usual,
		"You can choose [A] Advanced Elicitation, [P] Party Mode or [C] Continue":             usual,
		"([A] Advanced Elicitation, [P] Party Mode, [C] Continue)":                            usual,
		"**All is done!** [T] Test it [M] Make changes":                                       all("Test it", "Make changes"),
		"Which? [S] Split — pick one, defer the rest | [K] Keep all goals — accept the risks": {{"Split", "pick one, defer the rest"}, {"Keep all goals", "accept the risks"}},
		"Review its changes? [Y] Yes / [N] No, let me choose":                                 all("Yes", "No, let me choose"),
		"Shall I? [Y] Yes or [N] No?":                                                         all("Yes", "No"),
		"**Select:** [C] Continue to Scoping (Step 8 of 11) [X] Exit":                         all("Continue to Scoping (Step 8 of 11)", "Exit"),
		"**Выбери:** [A] Глубже [P] Вместе [C] Продолжить":                                    all("Глубже", "Вместе", "Продолжить"),
	} {
		answer := "The brief is written.\n\n" + menu
		asked, choices, ok := In(answer)
		if !ok || !slices.Equal(choices, want) {
			t.Errorf("%q has %q, %v", menu, choices, ok)
		}
		if asked != menu && asked != "The brief is written." {
			t.Errorf("%q asks %q", menu, asked)
		}
		if choices := Choices(menu); !slices.Equal(choices, want) {
			t.Errorf("asked as %q there are %q", menu, choices)
		}
	}
	if _, choices, _ := In("What is the issue?\n\n[A] Performance [B] Security"); len(choices) != 2 {
		t.Errorf("a menu below its question has %q", choices)
	}
	if asked, _, _ := In("Saved.\n\n**Select:** [A] Advanced [C] Continue"); asked != "**Select:** [A] Advanced [C] Continue" {
		t.Errorf("what is asked is %q", asked)
	}
}

// Letters that a line mentions are no menu, nor are sources, tables and code.
func TestLettersInALineAreNoChoices(t *testing.T) {
	for _, answer := range []string{
		"Found [X] Critical, [Y] Major, [Z] Minor violations",
		"It goes between [A] and [B] as before.",
		"Combining [A] with [B] for the first time: it works",
		"Sources: [1] Smith, 2001 [2] Jones, 2002",
		"Sources: [a] Smith, 2001, [b] Jones, 2002",
		"See [A](a.md) and [C](c.md) for more: [A](a.md) [C](c.md)",
		"The fields a[A] and c[C] hold it: a[A] b[B]",
		"| [A] Advanced | [C] Continue |\n| --- | --- |\n| 1 | 2 |",
		"```\nmake [A] all [C] clean\n```",
		"```\nSelect: [A] Advanced [C] Continue\n```",
		"[ ] Write [x] Cut [ ] Save",
		"1. What is the issue? [A] Performance [B] Security [C] Usability",
		"What is the issue? [P] Performance [S] Security\nWhen? [N] Now [L] Later",
		"Done: [x] Write [x] Cut",
		"I set [A] Advanced to on. Then I set [C] Continue to off.",
		"Pick: [A] Advanced [C] Continue. Or I go on with what I think is best.",
	} {
		if asked, choices, _ := In("It is done.\n\n" + answer); choices != nil {
			t.Errorf("%q asks %q with %q", answer, asked, choices)
		}
	}
}

// Letters and numbers of a list may be bold.
func TestListsWithBoldMarks(t *testing.T) {
	usual := all("Advanced", "Continue")
	for list, want := range map[string][]Choice{
		"**[A]** Advanced\n**[C]** Continue":                    usual,
		"- **[A]** Advanced\n- **[C]** Continue":                usual,
		"[**A**] Advanced\n[**C**] Continue":                    usual,
		"**[A] Advanced**\n**[C] Continue**":                    usual,
		"`[A] Advanced`\n`[C] Continue`":                        usual,
		"- `[A]` Advanced\n- `[C]` Continue":                    usual,
		"**A)** Advanced\n**C)** Continue":                      usual,
		"**A.** Advanced\n**C.** Continue":                      usual,
		"- **A)** Advanced\n\n- **C)** Continue":                usual,
		"**1.** Advanced\n**2.** Continue":                      usual,
		"**[A] Advanced** - Look again\n**[X] Exit** - For now": {{"Advanced", "Look again"}, {"Exit", "For now"}},
	} {
		if _, choices, ok := In("It is written.\n\nWhat next?\n\n" + list); !ok || !slices.Equal(choices, want) {
			t.Errorf("%q has %q, %v", list, choices, ok)
		}
	}
	for _, answer := range []string{
		"**1. Read**\nAll of it.\n\n**2. Write**\nWhat next?",
		"**1. Read**\n**2. Write**",
		"**A. Reviews**\n**B. Tests**",
		"**Q.** Why does it fail?\n**A.** The port is taken.",
		"What I did:\n\n**1.** Read\n**2.** Write",
		"- **[x]** Read\n- **[x]** Write",
		"Sources:\n\n**[1]** Smith\n**[2]** Jones",
	} {
		if asked, choices, ok := In(answer); ok && choices != nil {
			t.Errorf("%q asks %q with %q", answer, asked, choices)
		}
	}
}

// A menu may have one choice only, where a line says that it is one.
func TestOneChoiceOfAMenu(t *testing.T) {
	for answer, want := range map[string][]Choice{
		"Saved.\n\n**Select an Option:**\n[C] Continue":            all("Continue"),
		"Saved.\n\n**Select an Option:**\n\n- **[C]** Continue":    all("Continue"),
		"Saved.\n\nShall we go on?\n\n[C] Continue - to the scope": {{"Continue", "to the scope"}},
		"## Menu\n\n[C] Complete":                                  all("Complete"),
		"Saved.\n\n[C] Continue":                                   nil,
		"Next:\n\n1. Continue":                                     nil,
		"Done:\n\n- [x] Continue":                                  nil,
		"Done:\n\n[X] Write":                                       nil,
		"Which one is it?\n\n[B] Smith":                            nil,
	} {
		if _, choices, _ := In(answer); !slices.Equal(choices, want) {
			t.Errorf("%q has %q", answer, choices)
		}
	}
}

// Menus of agents have up to twenty lines. Other lists of that length are nothing to choose from.
func TestLongMenus(t *testing.T) {
	list := func(format string, n int) string {
		var lines []string
		for i := range n {
			lines = append(lines, fmt.Sprintf(format, i+1, string(rune('A'+i))))
		}
		return strings.Join(lines, "\n")
	}
	for answer, want := range map[string]int{
		"Pick one:\n\n" + list("%d. Task %s", 15):                            15,
		"Which task do you want?\n\n" + list("%d. Task %s", 20):              20,
		list("%d. Task %s", 12) + "\n\nWhich one do you want?":               12,
		"Here I am.\n\n" + list("%d. [M%s] Task", 12):                        12,
		"Pick one:\n\n" + list("%d. Task %s", 21):                            0,
		"Is this what you meant?\n\n" + list("%d. Task %s", 10):              0,
		"Is this what you meant?\n\n" + list("%d. Task %s", 9):               9,
		"What I read, and what I chose to skip:\n" + list("%d. Task %s", 12): 0,
	} {
		if _, choices, ok := In(answer); len(choices) != want || !ok && want > 0 {
			t.Errorf("%q has %d, %v", answer, len(choices), ok)
		}
	}
}

func FuzzIn(f *testing.F) {
	f.Add("Saved.\n\n**Select:** [A] Advanced [C] Continue\n[X] Exit")
	f.Add("Which?\n1. **Red**: warm\n   and loud\n**2.** Blue")
	f.Add("Which?\n1. ** **\n2. : Red\n3. Blue\n4. Green")
	f.Fuzz(func(t *testing.T, answer string) {
		_, choices, _ := In(answer)
		for _, c := range append(choices, Choices(answer)...) {
			if strings.TrimSpace(c.Label) == "" {
				t.Errorf("%q has a choice without a label", answer)
			}
		}
	})
}

func TestWhatAnAnswerEndsWith(t *testing.T) {
	for answer, want := range map[string]struct {
		ok      bool
		choices int
	}{
		"What is it called?":                           {true, 0},
		"Shall I save it? [y/n]":                       {true, 2},
		"**Is this complete and correct? [yes/edit]**": {true, 2},
		"It is saved. [draft/final]":                   {false, 0},
		"اختر أحد الخيارات: [أ] تعمق [ب] فريق [ج] متابعة":                        {true, 3},
		"اختر أحد الخيارات:\n\n[أ] تعمق\n[ب] فريق\n[ج] متابعة":                   {true, 3},
		"Выберите: [А] Подробнее [П] Команда [Д] Дальше":                         {true, 3},
		"[注] 先写。\n[图] 后画。":                                                       {false, 0},
		"It is called Lantern.":                                                  {false, 0},
		"Comment s'appelle-t-il ?":                                               {true, 0},
		"叫什么名字？":                                                                 {true, 0},
		"Which one?\n\n1. A\n2. B":                                               {true, 2},
		"This was done:\n\n1. A\n2. B":                                           {false, 2},
		"**4. Menu**\n\n\"[C] Continue - Save this and move on (Step 2 of 11)\"": {true, 0},
		"Display: \"**Select:** [A] Advanced Elicitation [P] Party Mode [C] Continue to Vision (Step 2b of 13)\"": {true, 3},
		"Draft complete.\n\n[A] Advanced Elicitation\n[P] Party Mode\n[C] Continue":                               {true, 3},
		"- **[C]** Continuer\n- **[E]** Éditer":                                                                   {true, 2},
		"[C] Продолжить":                                                                                          {true, 0},
		"[c] 继续":                                                                                                  {true, 0},
		"Reply with C to continue.":                                                                               {true, 0},
		"[C] to continue":                                                                                         {true, 0},
		"Type `C` to continue to the next step":                                                                   {true, 0},
		"Done:\n\n- [x] Write\n- [x] Cut":                                                                         {false, 0},
		"Done:\n\n- [X] Xylophone\n- [X] Cut":                                                                     {false, 0},
		"See [C](https://example.com) for more.":                                                                  {false, 0},
		"The array a[C] holds it.":                                                                                {false, 0},
		"Sources:\n\n[1] Smith, 2001\n[2] Jones, 2002":                                                            {false, 2},
		// What is asked for out of courtesy waits for nobody.
		"Done: I saved what you asked for. Anything else?":         {false, 0},
		"It is saved. Is there anything else I can help you with?": {false, 0},
		"Saved.\n\nWould you like anything else?":                  {false, 0},
		"The brief is there. How else can I help?":                 {false, 0},
		"Fertig. Kann ich sonst noch etwas tun?":                   {false, 0},
		"Anything else?\n\n1. A brief\n2. A plan":                  {true, 2},
		"Is there anything else in the contract that binds us?":    {true, 0},
		"Shall I write the brief?":                                 {true, 0},
		// A word on how to answer may follow the question.
		"What are you trying to decide? One sentence is enough.":       {true, 0},
		"Which one do you want?\n\n1. A\n2. B\n3. C\n\nPlease choose.": {true, 3},
		"Which one do you want?\n1. A\n2. B\n3. C\nPlease choose.":     {true, 3},
		// A list may come before the question that is about it.
		"There are three ways.\n\n1. Short\n2. Long\n3. None\n\nWhich one do you want?": {true, 3},
		"There are three ways.\n\n1. Short\n2. Long\n3. None\nWhich one do you want?":   {true, 3},
		"1. Short\n2. Long\n\nWelche soll es sein?":                                     {true, 2},
		"1. Short\n2. Long\n\nWhich one do you want? Say its number.":                   {true, 2},
		"This was done:\n\n1. A\n2. B\n\nShall I go on?":                                {true, 0},
		"This was done:\n\n1. A\n2. B\nShall I go on?":                                  {true, 0},
		"1. Ask which one it is.\n2. Write it down.\n\nIt is done. What is your name?":  {true, 0},
		"Who is it for? (Readers, or the porter.)":                                      {true, 0},
		"Why does it fail? The port is taken.":                                          {false, 0},
		"Why does it fail? The port is taken, so choose another and say which.":         {false, 0},
		"The steps:\n\n1. A\n2. B\n\nPlease choose.":                                    {false, 0},
		"":    {false, 0},
		" \n": {false, 0},
	} {
		_, choices, ok := In(answer)
		if ok != want.ok || ok && len(choices) != want.choices {
			t.Errorf("%q: %v, %v; want %v", answer, choices, ok, want)
		}
	}
}

// What says how to answer is left out of what is asked, with the marks around it.
func TestHowToAnswerIsNotAsked(t *testing.T) {
	for answer, want := range map[string]string{"Shall I save it? [y/n]": "Shall I save it?", "**Is it complete? [yes/edit]**": "**Is it complete?**", "**Is it complete?** (y/n)": "**Is it complete?**"} {
		if asked, _, ok := In(answer); !ok || asked != want {
			t.Errorf("%q asks %q, %v", answer, asked, ok)
		}
	}
}

// Short answers in brackets are choices, in the words that people say.
func TestAnswersInBracketsAreChoices(t *testing.T) {
	for answer, want := range map[string][]Choice{
		"Shall I save it? [y/n]": {{Label: "Yes"}, {Label: "No"}}, "**Is it complete?** (yes/edit)": {{Label: "Yes"}, {Label: "Edit"}}, "هل أحفظه؟ (نعم/لا)": {{Label: "نعم"}, {Label: "لا"}},
		"What is it for? And is it done? (y/n)": nil, "Where is it (src/main)?": nil, "Which file? (see docs/a.md)": nil, "Is it src/main? (a rather long/other answer of many words)": nil,
	} {
		if _, choices, ok := In(answer); !ok || !slices.Equal(choices, want) {
			t.Errorf("%q offers %v, %v", answer, choices, ok)
		}
	}
}
