package question

import "testing"

// Two lists are two questions: what is chosen from one would leave the other without an answer.
func TestTwoListsAreNoChoices(t *testing.T) {
	for text, want := range map[string]int{
		"Where?\n1. Here\n2. There":                                 2,
		"Where?\n1. Here\n1. There":                                 2,
		"Where?\n1. Here\n2. There\n\nHow many?\n1. One\n2. Two":    0,
		"Where?\n1. Here\n2. There\n   or near it\n3. Nowhere":      3,
		"Where?\na) Here\nb) There\n\nAnd when?\n\na) Now\nb) Then": 0,
	} {
		if found := Choices(text); len(found) != want {
			t.Errorf("%q has %d choices, want %d", text, len(found), want)
		}
	}
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

func TestWhatAnAnswerEndsWith(t *testing.T) {
	for answer, want := range map[string]struct {
		ok      bool
		choices int
	}{
		"What is it called?":           {true, 0},
		"It is called Lantern.":        {false, 0},
		"Comment s'appelle-t-il ?":     {true, 0},
		"叫什么名字？":                       {true, 0},
		"Which one?\n\n1. A\n2. B":     {true, 2},
		"This was done:\n\n1. A\n2. B": {false, 2},
		"**4. Menu**\n\n\"[C] Continue - Save this and move on (Step 2 of 11)\"":                                  {true, 0},
		"Display: \"**Select:** [A] Advanced Elicitation [P] Party Mode [C] Continue to Vision (Step 2b of 13)\"": {true, 0},
		"Draft complete.\n\n[A] Advanced Elicitation\n[P] Party Mode\n[C] Continue":                               {true, 3},
		"- **[C]** Continuer\n- **[E]** Éditer":                                                                   {true, 0},
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
