package project

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/troupe-dev/troupe/project/internal/config"
	"github.com/troupe-dev/troupe/project/internal/models"
	"github.com/troupe-dev/troupe/server"
)

// changeConfig sets values in troupe.yaml. Its error is in words for an operator who looks at a
// page, not at the file.
func (p *Project) changeConfig(values map[string]string) error {
	return inWords(config.Change(p.dir, values, p.lookup))
}

// inWords is an error of a configuration that is wrong in words for operators: with the lines at
// which something is wrong, and without where the file is on this machine.
func inWords(err error) error {
	problems, ok := errors.AsType[config.Problems](err)
	if !ok {
		return err
	}
	if errors.Is(err, config.ErrWrongBefore) {
		return wrongBefore("nothing was changed: " + config.ErrWrongBefore.Error() + ": " + problemWords(problems))
	}
	return errors.New("nothing was changed: " + config.Name + " would be wrong: " + problemWords(problems))
}

// wrongBefore is what is said where nothing can be changed until troupe.yaml is mended.
type wrongBefore string

func (w wrongBefore) Error() string { return string(w) }
func (wrongBefore) Unwrap() error   { return server.ErrMistake }

// Mistake says to an operator who looks at a page why a configuration cannot be used, as [Open]
// and [Project.Server] have reported it.
func (p *Project) Mistake(err error) string {
	if problems, ok := errors.AsType[config.Problems](err); ok {
		return problemWords(problems)
	}
	return strings.ReplaceAll(err.Error(), p.dir+string(filepath.Separator), "")
}

// problemWords are what is wrong with a configuration, each with its line.
func problemWords(problems config.Problems) string {
	var wrong []string
	for _, p := range problems {
		message := p.Message
		if p.Line > 0 {
			message += fmt.Sprintf(" (line %d of %s)", p.Line, filepath.Base(p.File))
		}
		wrong = append(wrong, message)
	}
	return strings.Join(wrong, "; ")
}

// gone is the error of something that the operator was shown and that is not there any more.
func gone(what, name string) error {
	return fmt.Errorf("%w: %s %.64s is not there any more. The list shows what there is now", server.ErrStale, what, name)
}

// usersInWords names settings that use something as people call them.
func usersInWords(keys []string) string {
	var named []string
	for _, key := range keys {
		id, what, _ := strings.Cut(strings.TrimPrefix(key, "agents."), ".")
		switch {
		case key == "model":
			key = "the usual model"
		case strings.HasPrefix(key, "agents.") && what == "model":
			key = "the model of " + id
		case strings.HasPrefix(key, "agents.") && what == "tools":
			key = "the tools of " + id
		case key == "--model":
			key = "--model on the command line"
		}
		named = append(named, key)
	}
	return strings.Join(named, ", ")
}

// unavailable says to people who choose a model why one cannot be chosen. What to do about it
// is the operator's business, and is said where operators look.
func unavailable(err error) string {
	if _, ok := errors.AsType[*models.MissingKey](err); ok {
		return "no key is set"
	}
	if refusal, ok := errors.AsType[*models.Refusal](err); ok {
		return strings.Replace(refusal.Why, "limits.cost is set", "what an answer may cost is limited", 1)
	}
	return withoutModel(err.Error())
}

var modelPrefix = regexp.MustCompile(`^model \S+ \([^)]*\): `)

// withoutModel is what is wrong with a model without its name, which stands beside it.
func withoutModel(text string) string { return modelPrefix.ReplaceAllString(text, "") }

// limitOf is the value of a limit as a file that is read has it: "90m" is "1h30m0s", and
// "2.50" is "2.5". What is no value of it is refused, before the file would.
func limitOf(key, value string) (string, error) {
	if value == "" {
		return "", nil
	}
	switch key {
	case monthKey, "limits.cost":
		n, err := strconv.ParseFloat(value, 64)
		if err != nil || !(n > 0) || math.IsInf(n, 0) {
			return "", fmt.Errorf("“%.40s” is no amount of money: write a number of US dollars, such as 0.5, or nothing for no limit", value)
		}
		return plainNumber(n), nil
	case "limits.time":
		d, err := time.ParseDuration(value)
		if err != nil || d <= 0 {
			return "", fmt.Errorf("“%.40s” is no time: write one such as 15m or 1h30m, or nothing for no limit", value)
		}
		return d.String(), nil
	case "limits.turns":
		n, err := strconv.Atoi(value)
		if err != nil || n <= 0 {
			return "", fmt.Errorf("“%.40s” is no number of turns: write a whole one from 1 on, such as 50, or nothing for the usual limit", value)
		}
		return strconv.Itoa(n), nil
	case "limits.tokens":
		n, err := strconv.Atoi(value)
		if err != nil || n <= 0 {
			return "", fmt.Errorf("“%.40s” is no number of tokens: write a whole one, such as 200000, or nothing for no limit", value)
		}
		return strconv.Itoa(n), nil
	}
	return value, nil
}
