package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/troupe-dev/troupe/internal/words"
	"github.com/troupe-dev/troupe/project/internal/models"
)

// Others tries the providers that are set up and that no chosen model is of, all at
// the same time.
func Others(ctx context.Context, c *models.Chooser, chosen []models.Choice) []Check {
	var tried []string
	for _, choice := range chosen {
		for ref := range strings.FieldsSeq(choice.Ref + " " + choice.Then) {
			name, _, _ := strings.Cut(ref, "/")
			tried = append(tried, name)
		}
	}
	names := slices.DeleteFunc(c.SetUp(), func(name string) bool { return slices.Contains(tried, name) })
	checks := make([]Check, len(names))
	var wg sync.WaitGroup
	for i, name := range names {
		wg.Go(func() { checks[i] = other(ctx, c, name) })
	}
	wg.Wait()
	return checks
}

func other(ctx context.Context, c *models.Chooser, name string) Check {
	e, err := c.Endpoint(models.Choice{Ref: name, From: "its own settings"})
	if missing, ok := errors.AsType[*models.MissingKey](err); ok {
		return Check{Name: "provider " + name, Status: Warning, Message: missing.Variable + " is not set", Fix: "set it, in the environment or in .env, if you want to use this provider"}
	}
	if err != nil {
		return Check{Name: "provider " + name, Status: Warning, Message: err.Error(), Fix: "set it right if you want to use this provider"}
	}
	e.Model = ""
	check := Provider(ctx, e)
	if check.Status == Broken {
		check.Status = Warning // no model in use is of it
	}
	return check
}

// RunningOllama says how to use an Ollama that answers although nobody has chosen it,
// or nothing.
func RunningOllama(ctx context.Context, c *models.Chooser) string {
	e, err := c.Endpoint(models.Choice{Ref: "ollama", From: "--model"})
	if err != nil {
		return ""
	}
	names, err := models.Installed(ctx, &e)
	if err != nil || len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("; Ollama is running here: --model ollama/%s", models.Best(ctx, &e, names))
}

// Describe says what is known of a model, and who says so.
func Describe(f models.Facts) string {
	text := ""
	if f.Window > 0 {
		text += fmt.Sprintf("; window %d tokens (%s)", f.Window, f.WindowFrom)
	} else {
		text += "; its window is not known"
	}
	switch {
	case f.IsAssumedFree:
		text += "; no price is known, and it counts as free because it runs on your own machines"
	case f.Price.Free:
		text += "; it costs nothing"
	case f.Price.Known():
		text += fmt.Sprintf("; %s in and %s out per million tokens (%s)", words.Dollars(f.Price.Input), words.Dollars(f.Price.Output), f.PriceFrom)
	default:
		text += "; what it costs is not known"
	}
	return text
}
