package pipeline

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/internal/rawjson"
)

// A criterion is what a change is accepted by.
type criterion struct {
	ID   string `json:"id"`
	Text string `json:"text"`
	How  string `json:"how,omitempty"`
}

// criteriaOf returns the acceptance criteria of requirements, each with an id of its own:
// the one that its author gave, as a field or before the text, else the next that is free.
func criteriaOf(results []Result) (list []criterion) {
	for _, r := range results {
		if r.Phase != "requirements" {
			continue
		}
		var outputs struct {
			Criteria Items `json:"acceptance_criteria"`
		}
		_ = json.Unmarshal(r.Outputs, &outputs) // none where there are none
		for i, item := range outputs.Criteria {
			list = addCriterion(list, readCriterion(item), i+1)
		}
	}
	return list
}

// addCriterion adds the n-th criterion that somebody wrote. What is there already is not
// added again; an id that another one has is not given twice.
func addCriterion(list []criterion, c criterion, n int) []criterion {
	taken := func(id string) *criterion {
		for i := range list {
			if sameID(list[i].ID, id) {
				return &list[i]
			}
		}
		return nil
	}
	if other := taken(c.ID); other != nil && plainly(other.Text) == plainly(c.Text) {
		return list
	}
	for c.ID == "" || taken(c.ID) != nil {
		c.ID = fmt.Sprintf("AC%d", n)
		n++
	}
	return append(list, c)
}

// readCriterion reads a criterion as agents write it: a text, or an object.
func readCriterion(item Item) criterion {
	c := criterion{ID: strings.TrimSpace(item.Field("id")), How: item.Field("how")}
	c.Text = cmp.Or(item.Field("text"), item.Field("description"), item.Field("criterion"), item.without("id", "how"))
	if m := idBefore.FindStringSubmatch(c.Text); m != nil && (c.ID == "" || sameID(m[1], c.ID)) {
		c.ID, c.Text = cmp.Or(c.ID, m[1]), m[2]
	}
	return c
}

// idBefore is the id that stands before a criterion in its text: "AC-1: it is good".
var idBefore = regexp.MustCompile(`(?is)^\s*((?:AC|CR|REQ|FR|NFR|US|R|C)[-_ ]?\d{1,4}(?:\.\d{1,3})*)\s*[:.)–—-]+\s+(\S.*)$`)

// sameID reports whether two ids are meant to be the same: "AC-1", "ac 1" and "AC1" are.
func sameID(a, b string) bool { return a != "" && plainID(a) == plainID(b) }

var betweenIDs = strings.NewReplacer("-", "", "_", "", " ", "", "\t", "", "\u2011", "", "\u2013", "")

func plainID(id string) string { return strings.ToUpper(betweenIDs.Replace(id)) }

// without is an item as text, without some of its fields.
func (i Item) without(names ...string) string {
	fields := rawjson.Fields([]byte(i.json))
	if len(fields) == 0 {
		return i.String()
	}
	var parts []string
	for _, f := range fields {
		if text := shown(f.Value); text != "" && !slices.Contains(names, f.Name) {
			parts = append(parts, f.Name+": "+text)
		}
	}
	return strings.Join(parts, "; ")
}
