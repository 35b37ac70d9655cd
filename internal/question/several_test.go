package question

import "testing"

func TestSeveralMayBeChosen(t *testing.T) {
	for _, text := range []string{
		"What do you need? Pick one, or several (e.g. 1,3).\n\n1. PDF\n2. CSV\n3. Mail",
		"Which of these? Choose all that apply.\n\n1. PDF\n2. CSV\n3. Mail\n\nEnter the numbers, separated by commas.",
		"Select one or more:\n\n1. PDF\n2. CSV\n3. Mail",
		"Which ones? (for example 1 and 3)\n\n1. PDF\n2. CSV\n3. Mail",
	} {
		if asked, choices, ok := In(text); !ok || len(choices) != 3 || !Several(asked) {
			t.Errorf("%q asks %q with %d choices, several: %v", text, asked, len(choices), Several(asked))
		}
	}
	for _, text := range []string{
		"Which one?\n\n1. PDF\n2. CSV", "Choose 1, 2 or 3.", "Pick one of several.", "Do all these apply? [y/n]", "Select 0-8 or 9 to proceed",
	} {
		if Several(text) {
			t.Errorf("%q is said to allow several", text)
		}
	}
}
