package browser

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// A document of a delivery is a file of its conversation like others: opened from wherever it is
// listed, edited, brought back, downloaded. The phases go by it as it is.
func TestADocumentOfADeliveryIsEdited(t *testing.T) {
	t.Parallel()
	_, dir, b := plans(t)
	value[any](b, "void (globalThis.sessionOf = location.hash)")
	panel, gate := ".panel", "[aria-label=Gate] [role=status]"
	b.click("[aria-label=Documents] button", "Plan")
	b.sees(panel+" .prose", "The second file")
	b.click(panel+" button", "Edit")
	b.write(panel+" textarea", "# Plan\n\nIn my own words.\n")
	b.press("s", kb.ModifierCtrl)
	b.toasted("Saved as version 2")
	b.sees(panel+" .prose", "In my own words.")
	b.sees(gate, "The document of the plan was edited. What is carried out are the steps above: change them in the plan, too.")
	b.sees(".phase-result[data-phase=planning]", "edited since")
	b.sees(".phase-result[data-phase=requirements]", "created, ")
	b.click(panel+" button", "Edit")
	b.click(".editor button", "Save a version")
	b.toasted("Nothing was changed: no version was made.")
	b.lacks(".editor", "")
	b.sees("[aria-label=Gate]", "The plan is ready.")
	kept, err := filepath.Glob(filepath.Join(dir, "data", "deliveries", "*", "documents", "specs", "plans", "*.md"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("%v %v", kept, err)
	}
	if text, err := os.ReadFile(kept[0]); err != nil || string(text) != "# Plan\n\nIn my own words.\n" {
		t.Errorf("the document is %q, %v", text, err)
	}

	b.click(panel+" button", "All files")
	b.click(panel+" .recent a", "plans")
	b.sees(panel+" .prose", "In my own words.")
	value[any](b, "void (location.hash = '#/files')")
	b.click(".library tr .strong", "Plan")
	b.sees(".glance .versions", "Edited by you")
	b.click(".glance button", "Open")
	b.sees(panel+" .prose", "In my own words.")

	b.chooses(panel+" .desk-only [aria-label=Version]", "1")
	b.sees(panel+" .prose", "The second file")
	b.click(panel+" button", "Bring back")
	b.sees(panel+" .pick", "Version 3")
	if text, err := os.ReadFile(kept[0]); err != nil || !strings.Contains(string(text), "The second file") {
		t.Errorf("what was brought back is %q, %v", text, err)
	}
	value[any](b, "void (location.hash = sessionOf)")
	b.sees(".bar a", "Download all")
	files := b.archived(func() {
		value[any](b, "void fetch(find('.bar a', 'Download all').href).then((r) => r.blob()).then((all) => URL.createObjectURL(all))")
	})
	if name := "output/specs/plans/" + filepath.Base(kept[0]); !strings.Contains(files[name], "The second file") {
		t.Errorf("the archive has %v", files)
	}
	b.lacks(gate, "")
}
