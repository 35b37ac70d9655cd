package git

import (
	"testing"
)

// updates are ways to bring the branch up to date with the checkout.
var updates = map[string]string{"merge": "git merge -q --no-edit main", "rebase": "git rebase -q main"}

func eachUpdate(t *testing.T, do func(t *testing.T, k *taker, squash, update string)) {
	for name, update := range updates {
		t.Run(name, func(t *testing.T) {
			eachWay(t, func(t *testing.T, k *taker, squash string) { do(t, k, squash, update) })
		})
	}
}

// What people have committed themselves is no part of a branch that they have brought up to date.
func TestABranchThatWasBroughtUpToDateTakesNothingOut(t *testing.T) {
	eachUpdate(t, func(t *testing.T, k *taker, squash, update string) {
		k.build("echo A >new.txt")
		k.own("echo mine >mine.txt; echo mine >a.txt")
		sh(t, k.tree, update)
		k.brings(false, true)
		k.take(squash)
		k.own("echo more >more.txt")
		sh(t, k.tree, update)
		k.brings(true, false)
		k.back()
		k.has("a.txt mine\nmine.txt mine\nmore.txt more\nsub/b.txt b")
		k.take(squash)
		k.has("a.txt mine\nmine.txt mine\nmore.txt more\nnew.txt A\nsub/b.txt b")
	})
}

// Neither is it of one that was brought up to date after it was taken, and brings more.
func TestABranchThatWasBroughtUpToDateAfterATakeTakesNothingOut(t *testing.T) {
	eachUpdate(t, func(t *testing.T, k *taker, squash, update string) {
		k.build("echo A >new.txt")
		k.take(squash)
		k.own("echo mine >mine.txt; echo mine >a.txt")
		sh(t, k.tree, update)
		k.brings(true, false)
		k.build("echo B >new2.txt")
		k.brings(true, true)
		k.take(squash)
		k.back()
		k.has("a.txt mine\nmine.txt mine\nsub/b.txt b")
	})
}

// Of a branch that people brought up to date and then merged by hand, only its own commits are there;
// so it is where they came by way of a third branch.
func TestOnlyTheBranchsOwnCommitsAreMergedByHand(t *testing.T) {
	for name, merge := range map[string]string{
		"fast-forward": "git merge -q --ff-only next",
		"merge":        "git merge -q --no-ff --no-edit next",
		"third":        "git switch -qc third; git merge -q --no-ff --no-edit next; echo own >third.txt; git add -A; git commit -qm third; git switch -q main; git merge -q --no-ff --no-edit third; git rm -q third.txt; git commit -qm own",
	} {
		for how, update := range updates {
			t.Run(name+", "+how, func(t *testing.T) {
				k := newTaker(t)
				k.build("echo A >new.txt")
				k.own("echo mine >mine.txt")
				sh(t, k.tree, update)
				k.build("echo B >new2.txt")
				sh(t, k.Top, merge)
				k.brings(true, false)
				k.back()
				k.has("a.txt a\nmine.txt mine\nsub/b.txt b")
				k.brings(false, true)
			})
		}
	}
}
