package project

import (
	"context"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/project/internal/models"
)

// isBlind says that a model is known to take no images. One that nobody knows is taken to.
func isBlind(m *models.Opened) bool {
	return (m.Known.Name != "" || len(m.Can) > 0) && !m.Known.Images && !slices.Contains(m.Can, "images")
}

// forModel returns the tools as a model can use them: one that takes no images would refuse
// the whole request for an image that a server's tool returns, in this turn and all that
// follow. What the image is, it is told in words in any case.
func forModel(m *models.Opened, tools []troupe.Tool) []troupe.Tool {
	if !isBlind(m) {
		return tools
	}
	tools = slices.Clone(tools)
	for i, tool := range tools {
		if strings.Contains(tool.Spec().Name, toolSeparator) {
			tools[i] = withoutImages{tool}
		}
	}
	return tools
}

type withoutImages struct{ troupe.Tool }

func (w withoutImages) Call(ctx context.Context, in *troupe.Invocation) (troupe.Result, error) {
	result, err := w.Tool.Call(ctx, in)
	result.Parts = slices.DeleteFunc(slices.Clone(result.Parts), func(p troupe.Part) bool { return strings.HasPrefix(p.MIME, "image/") })
	return result, err
}
