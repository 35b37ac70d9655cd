package project

import (
	"context"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/model/catalog"
	"github.com/troupe-dev/troupe/project/internal/models"
)

// A model that is known to take no images gets none from servers; one that takes them, or that
// nobody knows, does.
func TestImagesOfServersAreForModelsThatTakeThem(t *testing.T) {
	shot := func(name string) troupe.Tool {
		return troupe.NewTool(name, "x", func(context.Context, struct{}) (troupe.Result, error) {
			return troupe.Result{Content: "[image]", Parts: []troupe.Part{{MIME: "image/png"}, {MIME: "text/plain"}}}, nil
		})
	}
	for name, c := range map[string]struct {
		model models.Opened
		tool  string
		parts int
	}{
		"unknown":           {models.Opened{}, "browser__shot", 2},
		"takes them":        {models.Opened{Known: catalog.Info{Name: "m", Images: true}}, "browser__shot", 2},
		"the server says":   {models.Opened{Known: catalog.Info{Name: "m"}, Facts: models.Facts{Can: []string{"images"}}}, "browser__shot", 2},
		"blind":             {models.Opened{Known: catalog.Info{Name: "m"}}, "browser__shot", 1},
		"blind by itself":   {models.Opened{Facts: models.Facts{Can: []string{"reasoning"}}}, "browser__shot", 1},
		"a tool of our own": {models.Opened{Known: catalog.Info{Name: "m"}}, "shot", 2},
	} {
		result, err := forModel(&c.model, []troupe.Tool{shot(c.tool)})[0].Call(t.Context(), &troupe.Invocation{Arguments: []byte("{}")})
		if err != nil || len(result.Parts) != c.parts || result.Content != "[image]" {
			t.Errorf("%s: %+v, %v", name, result, err)
		}
	}
}
