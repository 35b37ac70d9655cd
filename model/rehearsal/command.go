package rehearsal

import (
	"path"
	"regexp"
	"strings"
)

var hello = regexp.MustCompile(`(?i)^(?:hi|hello|hey|good (?:morning|evening|day)|start|menu)?\W*$`)

// answer plays what follows one message of the user.
func (s *scene) answer(said string) {
	target := filePath.FindString(said)
	switch {
	case strings.HasPrefix(said, "[Opening]"):
		s.greet()
	case strings.HasPrefix(path.Base(target), "workflow.y") && s.can("execute_workflow"):
		s.perform(&command{target: target}, "")
	case len(s.part.commands) == 0:
		s.converse(said)
	case hello.MatchString(said):
		s.greet()
	default:
		s.obey(said)
	}
}

// obey plays the command that the user means.
func (s *scene) obey(said string) {
	found := s.part.wanted(said)
	if len(found) != 1 {
		switch strings.ToLower(strings.Trim(said, "*/.! ")) { // what every agent understands
		case "help", "menu":
			s.list()
			return
		case "exit", "quit", "goodbye", "bye":
			s.say("Goodbye. Thank you for the rehearsal.")
			return
		}
		if len(found) == 0 {
			s.say("Not recognized: %q. These are my commands:", brief(said))
		} else {
			s.say("%q can mean several of my commands. Which one?", brief(said))
		}
		s.list()
		return
	}
	c := found[0]
	_, rest, _ := strings.Cut(said, " ")
	switch {
	case c.target != "":
		s.say("Playing *%s.", c.name)
		if c.validates {
			newWalk(s, c.target).validate()
			return
		}
		s.perform(c, strings.TrimSpace(rest))
	case c.template != "":
		s.say("Playing *%s.", c.name)
		if w := newWalk(s, c.template); w.fillIn(c.template) {
			w.finish()
		}
	case strings.EqualFold(c.name, "exit"):
		s.say("Goodbye. Thank you for the rehearsal.")
	case strings.EqualFold(c.name, "help"), strings.EqualFold(c.name, "menu"):
		s.list()
	default:
		s.say("*%s has no file behind it: a model would do this: %s", c.name, c.about)
	}
}

// perform plays the file behind a command, as a workflow or as whatever it is.
func (s *scene) perform(c *command, request string) {
	target := c.target
	w := newWalk(s, target)
	isLoaded := (c.isWorkflow || path.Base(target) == "SKILL.md") && s.can("execute_workflow")
	if isLoaded || strings.HasSuffix(target, ".yaml") || strings.HasSuffix(target, ".yml") {
		w.execute(request)
		return
	}
	request, _, w.isYolo = strings.Cut(request, "#yolo")
	if w.read(target) && w.follow(c, strings.TrimSpace(request)) && (w.steps+w.questions > 0 || w.early != "") {
		w.finish()
	}
}

func (s *scene) greet() {
	switch {
	case s.part.greeting != "":
		s.say("%s", expand(s.part.greeting, known(s.part.values)))
	case s.part.name != "":
		s.say("Hello! I am %s.", s.part.name)
	default:
		s.say("Hello!")
	}
	if len(s.part.commands) > 0 {
		s.list()
	} else {
		s.offer()
	}
}

func (s *scene) list() {
	for i, c := range s.part.commands {
		s.say("%d. *%s - %s", i+1, c.name, c.about)
	}
}
