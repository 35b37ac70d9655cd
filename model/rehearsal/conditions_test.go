package rehearsal

import "testing"

func TestConditions(t *testing.T) {
	asked := &walk{
		config:   map[string]string{"level": "2", "user_skill_level": "expert", "fast": "true"},
		answers:  map[string]answer{"mode": {"1", "Interactive Mode"}, "pick": {"b", "b"}, "none": {"no", "no"}},
		latest:   answer{"2", "Start fresh"},
		question: "Continue or exit?\n1. Go on\n2. Start fresh",
	}
	unasked := &walk{}
	for condition, want := range map[string]bool{
		"mode == 'interactive'":                  true,
		"mode==1":                                true,
		"mode == 'yolo'":                         false,
		"mode != 'yolo'":                         true,
		"{user_skill_level} == 'expert'":         true,
		"{{fast}} == true":                       true,
		"fast":                                   true,
		"!fast":                                  false,
		"none":                                   false,
		"level >= 2":                             true,
		"level < 2":                              false,
		"level > 1":                              true,
		"mode is Interactive":                    true,
		"mode is not Interactive":                false,
		"pick == b (Override)":                   true,
		"unknown == true":                        false,
		"unknown != true":                        true,
		"unknown == false":                       true,
		"unknown > 3":                            false,
		"level == 1 or level == 2":               true,
		"level == 2 AND mode == 'yolo'":          false,
		`level == "1" OR "market" OR "2"`:        true,
		`level == "1" OR "market"`:               false,
		"level == 3 OR fuzzy match of something": false,
		"level == 2 and something nobody knows":  true,
		"user selects 2":                         true,
		"If user selects option 3:":              false,
		"user chooses '2'":                       true,
		"option 2":                               true,
		"choice == 2":                            true,
		"exit":                                   false,
		"user says yes":                          false,
		"user confirms":                          false,
		`"Start fresh"`:                          true,
		"{{story}} is provided":                  false,
		"{{story}} is NOT provided":              true,
		"{{level}} is provided":                  true,
		"current status == 'in-progress'":        false,
		"file found":                             true,
		"file not found":                         false,
		"no story or task found":                 false,
		"validation_issues_found":                false,
		"validation passes":                      true,
		"3 consecutive failures occur":           false,
	} {
		if got := asked.holds(condition); got != want {
			t.Errorf("%q holds: %v, want %v", condition, got, want)
		}
	}
	for condition, want := range map[string]bool{"yes": true, "no": false, "user confirms": true, "option 1": true} {
		if got := unasked.holds(condition); got != want {
			t.Errorf("%q holds where nothing was asked: %v, want %v", condition, got, want)
		}
	}
}

func TestStandInsAnswerTheQuestion(t *testing.T) {
	for question, want := range map[string]string{
		"Continue [c] or Edit [e]?":                    "c",
		"Which?\n1. This\n2. That":                     "1",
		"Which?\n**1. This** - x\n**2. That**":         "1",
		"Select a type (1-6) or describe it:":          "1",
		"What?\n\n- [ ] **Full** planning\n- [ ] Tech": "Full** planning",
		"Would you like that?":                         "yes",
		"Run it? (y/n)":                                "yes",
		"Do you approve this? (yes/no/revise)":         "yes",
		"What is the name?\nTake your time.":           `A stand-in answer to "What is the name?"`,
		"":                                             `A stand-in answer to ""`,
		"What " + "is a very long question that goes on and on until nobody remembers how it began or why it was asked?": `A stand-in answer to "What is a very long question that goes on and on until nobody remembers how it began or…"`,
	} {
		if got := StandIn(question); got != want {
			t.Errorf("%q: %q, want %q", question, got, want)
		}
	}
}

func TestOptionsAreChosenByNumberOrLetter(t *testing.T) {
	const question = "Pick:\n1. **Interactive Mode** - slow\n2) YOLO: fast\n[a] Approve\n(b) Edit"
	for said, want := range map[string]string{"1": "Interactive Mode", "2": "YOLO: fast", "a": "Approve", "[b]": "Edit", "3": "3", "a lot": "a lot"} {
		if got := choose(question, said).meant; got != want {
			t.Errorf("%q means %q, want %q", said, got, want)
		}
	}
}
