package browser

import (
	"testing"
)

// The card of a version opens that version, whatever was saved by hand in between; an
// edit by hand does not go over what an agent has saved meanwhile.
func TestVersionsByHandAndByAgentsAreOneRow(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	h := office(t, m, "")
	b := begin(t, h.link, "Ada")
	b.say("Write the brief")
	saves(t, m, "brief.md", "# Lockers\n\nMany readers pay.\n", "The brief is written.")
	b.sees(answers, "The brief is written.")
	b.click(".doc button", "Lockers")
	b.sees(".panel .pick", "Version 1")
	b.click(".panel button", "Edit")
	b.write(".editor textarea", "# Lockers\n\nMine.\n")
	b.click(".editor button", "Save a version")
	b.sees(".panel .pick", "Version 2")
	b.holds("document.activeElement.matches('.panel')") // the button is gone
	b.lacks(".doc", "open")

	b.click(".panel button", "Edit")
	b.write(".editor textarea", "# Lockers\n\nMine again.\n")
	b.say("Be exact")
	saves(t, m, "brief.md", "# Lockers\n\nNine of fourteen.\n", "Now it is exact.")
	b.sees(answers, "Now it is exact.")
	b.sees(".doc", "version 3")
	b.sees(".clash", "Ada saved version 3 meanwhile")
	b.click(".clash button", "Show the difference")
	b.sees(".clash .diff", "Nine of fourteen")
	b.picture("clash")
	b.click(".clash button", "Save mine as version 4")
	b.sees(".panel .prose", "Mine again.")
	b.sees(".panel .pick", "Version 4")

	b.holds("[...document.querySelectorAll('.doc button')].length === 2")
	b.holds("(document.querySelectorAll('.doc button')[0].click(), true)")
	b.sees(".panel .prose", "Many readers pay.")
	b.holds("location.hash.includes('v=1') && document.querySelectorAll('.doc .chip').length === 1")
	// Nothing is before the first version; what came later is shown as it was added.
	b.click(".panel .seg button", "Changes")
	b.sees(".panel .sheet", "This is the first version.")
	b.lacks(".panel .bar-2", "words")
	b.holds("[find('.panel [aria-label=\"Compare with\"]')].every((e) => ((e.value = '3'), e.dispatchEvent(new Event('change', { bubbles: true })), true))")
	b.sees(".panel .since", "Until version 3")
	b.sees(".panel .prose ins", "Nine of fourteen")
	b.sees(".panel .prose del", "Many readers pay")
	b.click(".panel .seg button", "Read")
	b.holds("(document.querySelectorAll('.doc button')[1].click(), true)")
	b.sees(".panel .prose", "Nine of fourteen.")
	b.holds("location.hash.includes('v=3') && document.querySelectorAll('.doc .chip').length === 1")

	// With an edit in the making, another version is shown as it is, and nothing is lost.
	b.click(".panel button", "Bring back")
	b.sees(".panel .pick", "Version 5")
	b.holds("document.activeElement.matches('.panel')")
	b.click(".panel button", "Edit")
	b.write(".editor textarea", "# Lockers\n\nHalf of a thought.\n")
	b.holds("all('.panel .seg [aria-pressed=true]').map((e) => e.innerText).join() === 'Edit'")
	for _, tab := range []string{"Source", "Changes", "Read"} { // what is saved is looked at, and what is being written stays
		b.click(".panel .seg button", tab)
		b.lacks(".editor", "")
		b.holds("all('.panel .seg [aria-pressed=true]').map((e) => e.innerText).join() === %s", tab)
		b.sees(".panel [role=status]", "Your changes of version 5 are not saved yet. They are kept.")
		if tab == "Changes" { // with which version is a control, and looks so
			b.holds("getComputedStyle(find('.panel [aria-label=\"Compare with\"]').closest('label')).borderTopWidth === '1px' && find('.panel .since svg')")
		}
		b.click(".panel button", map[string]string{"Read": "Go on editing", "Changes": "Edit", "Source": "Edit"}[tab])
		b.holds("find('.editor textarea')?.value.includes('Half of a thought.')")
	}
	b.holds("(document.querySelectorAll('.doc button')[0].click(), true)")
	b.sees(".panel .prose", "Many readers pay.")
	b.sees(".panel [role=status]", "Your changes of version 5 are not saved yet.")
	b.picture("kept")
	b.click(".panel button", "Go on editing")
	b.holds("document.querySelector('.editor textarea').value.includes('Half of a thought.')")

	// Home and Files say the same.
	b.holds("((location.hash = '#/files'), true)")
	b.sees(".library", "Lockers")
	b.holds("((location.hash = '#/'), true)")
	b.sees("[aria-label='Carry on']", "version 5")
}
