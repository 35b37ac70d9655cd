package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
)

// stepTask is what a builder is to do in a repository.
const stepTask = `Carry out the one step that is given under "step", and nothing else. Look at the code with your tools before you change it. Return every change as an artifact:
- {"name", "path", "type": "edit", "edits": [{"search": "...", "replace": "...", "count": 1}]} changes a file. "search" must be copied exactly from the file, without line numbers, and occur exactly once ("count" says how often, where it is more; "all": true means everywhere). All edits refer to the file as it is before your answer. Take a few lines around the place so that it is unique.
- {"name", "path", "type": "file", "content": "..."} is a new file, or replaces one that you have seen whole. Never leave anything out.
- {"name", "path", "type": "delete"} and {"name", "path", "to": "new/path", "type": "rename"}, which may have "edits" too.
Changing a test that was there, or what defines the checks, needs "metadata": {"reason": "..."}. Tests must not be removed or weakened. Add tests for what you build.
"outputs" has "step" (its id), "summary" (one or two sentences for the commit), "done": true, "files_changed", "steps_completed", and "more": true if the rest comes in your next answer.
After your answer the project's checks run, and you are told what fails.`

// blocksText asks for texts beside the JSON.
const blocksText = `Write code as blocks beside the JSON: any "content", "search" or "replace" may be {"block": "b1"}, and after the JSON object follow the line <<<b1, the text as it is, and the line >>>b1. This is allowed outside of the JSON.`

// informOfRepository puts together what a phase gets to know of the repository and of
// the phases before it.
func (w *work) informOfRepository(ctx context.Context) error {
	p := w.site.Profile
	w.in.Repository = &profile{Files: p.Files, Languages: p.Languages, Checks: p.Checks}
	w.in.Criteria = criteriaOf(w.earlier)
	docs, err := w.delivery.documents(ctx, w.run, w.earlier)
	if err != nil {
		return err
	}
	for _, d := range docs {
		w.in.add(fmt.Sprintf("DOCUMENT OF THE PHASE %s (%s)", d.Phase, d.Path), d.Content)
	}
	for _, d := range w.given {
		w.in.add("DOCUMENT GIVEN WITH THE REQUEST ("+d.Path+")", clipText(d.Content, maxDocument))
	}
	w.in.add("README OF THE REPOSITORY", p.Readme)
	w.in.add("THE PROJECT'S OWN GUIDES FOR CONTRIBUTORS", p.Guides)
	if w.phase.Name == "requirements" {
		w.in.add("OUTLINE OF THE REPOSITORY", p.Outline)
	}
	if w.phase.Name == phasePlanning {
		w.demand = demandSteps
	}
	return nil
}

// demandSteps asks for the steps of a plan, where there are none.
func demandSteps(p *Parsed) *setback {
	text := ""
	for _, a := range p.Output.Artifacts {
		text += a.Content + "\n"
	}
	if _, err := planOf(p.Output.Outputs, text); err != nil {
		return &setback{
			agent:  fmt.Sprintf(`Your last answer has no plan that can be carried out: %v. Put the steps into outputs.steps: [{"id": "1", "title": "...", "goal": "all that the builder must know", "files": ["..."], "depends_on": [], "acceptance": ["AC1"]}].`, err),
			person: "it has no plan that can be carried out: " + strings.TrimPrefix(err.Error(), "plan: "),
		}
	}
	return nil
}

// consult asks the knowledge base what it has about the request.
func (w *work) consult(ctx context.Context) error {
	if w.delivery.Knowledge == nil && w.delivery.KnowledgeOf == nil {
		return nil
	}
	question := strings.ReplaceAll(w.at.feature, "-", " ")
	found, err := call[knowledgeResult](ctx, w.run, w.delivery.knowledge, knowledgeRequest{Question: question, Limit: maxPassages})
	if err != nil {
		why, err := isToolFailure(err)
		if err != nil {
			return err
		}
		return w.warn(ctx, "knowledge_failed", why)
	}
	w.in.Passages = found.Passages
	return nil
}

// checkFiles warns of files that discovery names and that are not there.
func (w *work) checkFiles(ctx context.Context) error {
	var outputs Discovery
	_ = json.Unmarshal(w.Outputs, &outputs) // what has another form names no files
	paths := pathsOf(outputs.RelevantFiles)
	if len(paths) == 0 {
		return nil
	}
	r, err := call[lookResult](ctx, w.run, w.delivery.tools.look, lookRequest{state: w.now, Paths: paths, OnlyMissing: true})
	if err != nil {
		return err
	}
	for _, name := range r.Missing {
		if err := w.warn(ctx, "file_missing", "discovery names "+name+", and there is no such file"); err != nil {
			return err
		}
	}
	return nil
}
