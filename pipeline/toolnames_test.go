package pipeline

import (
	"reflect"
	"slices"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/tool/repo"
)

func TestToolNamesAreThoseOfDeliveries(t *testing.T) {
	shop := &workshop{}
	s := shop.tools()
	made := []troupe.Tool{
		s.prepare, s.setup, s.check, s.apply, s.format, s.commit, s.reset, s.look, s.diff, s.stat, s.try, s.readPlan, s.writePlan, s.documents, s.keepDocs, s.publish, s.adopt,
		s.findChecks, s.dependencies, s.setupAgain,
	}
	if fields := reflect.TypeOf(s).NumField(); fields != len(made) {
		t.Errorf("%d of %d tools are looked at", len(made), fields)
	}
	made = append(made, repo.Tools(repo.Config{Diff: shop.diffFor, Output: shop.outputOf, Document: shop.documentOf})...)
	for _, tool := range made {
		if name := tool.Spec().Name; !slices.Contains(ToolNames(), name) {
			t.Errorf("%s is a tool of deliveries, and not among their names", name)
		}
	}
}
