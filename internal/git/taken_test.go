package git

import (
	"strings"
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

// Who goes on from what a branch brought has it still: they move what it added, and change what it
// changed.
func TestWhatSomebodyGoesOnFromIsThere(t *testing.T) {
	for name, edit := range map[string]string{
		"moved":         "mkdir pkg; git mv new.go pkg/new.go; printf 'one\\npkg.bar()\\nthree\\n' >main.go",
		"moved alone":   "mkdir pkg; git mv new.go pkg/new.go",
		"moved in two":  "mkdir pkg; git mv new.go pkg/new.go; git commit -qm move; printf 'one\\npkg.bar()\\nthree\\n' >main.go",
		"put elsewhere": "git rm -q new.go; printf 'one\\nbar() and what is new\\nthree\\n' >main.go",
	} {
		t.Run(name, func(t *testing.T) {
			eachWay(t, func(t *testing.T, k *taker, squash string) {
				k.own("printf 'one\\nfoo()\\nthree\\n' >main.go")
				sh(t, k.tree, "git merge -q main")
				k.base = headOf2(t, k.Repo)
				k.build("printf 'one\\nbar()\\nthree\\n' >main.go; printf 'package x\\nfunc bar() {}\\n// long enough text\\n' >new.go")
				k.take(squash)
				k.own(edit)
				k.brings(true, false)
				if before, after := k.take(squash); before != after {
					t.Error("it is taken again")
				}
			})
		})
	}
}

// What was put back by hand is there, whoever goes on from it.
func TestWhatWasPutBackByHandIsThere(t *testing.T) {
	for name, undo := range map[string]func(k *taker){
		"taken back": func(k *taker) { k.back() },
		"by hand":    func(k *taker) { k.own("git diff --binary HEAD " + k.parts[0].Before + " | git apply --index") },
	} {
		t.Run(name, func(t *testing.T) {
			eachWay(t, func(t *testing.T, k *taker, squash string) {
				k.build("printf '1\\nA\\n3\\n' >a.txt; echo new >new.txt")
				k.take(squash)
				undo(k)
				k.brings(false, true)
				sh(t, k.Top, "git revert --no-edit HEAD")
				k.brings(true, false)
				k.own("printf '1\\nA2\\n3\\n' >a.txt")
				k.brings(true, false)
			})
		})
	}
}

// A branch that was brought up to date brings nothing that the checkout has changed since.
func TestABranchThatWasBroughtUpToDateBringsOnlyItsOwn(t *testing.T) {
	eachUpdate(t, func(t *testing.T, k *taker, squash, update string) {
		k.own("echo v0 >x.txt")
		sh(t, k.tree, "git merge -q main")
		k.base = headOf2(t, k.Repo)
		k.build("echo A >a.txt")
		k.take(squash)
		k.own("echo v1 >x.txt")
		sh(t, k.tree, update)
		k.build("echo more >more.txt")
		k.own("echo v2 >x.txt")
		k.brings(true, true)
		k.take(squash)
		k.has("a.txt A\nmore.txt more\nsub/b.txt b\nx.txt v2")
		k.back()
		k.has("a.txt a\nsub/b.txt b\nx.txt v2")
	})
}

// Files are named as they are.
func TestAConflictNamesFilesAsTheyAre(t *testing.T) {
	k := newTaker(t)
	k.build("echo A >Grüße.txt; echo A >'a b\"c.txt'")
	k.own("echo mine >Grüße.txt; echo mine >'a b\"c.txt'")
	_, _, err := k.try("")
	if err == nil || err.Error() != bothChanged+": Grüße.txt, a b\"c.txt; to bring both together yourself: git merge next" {
		t.Error(err)
	}
}

// A submodule is part of what a branch brings, whatever the user's git leaves out.
func TestASubmoduleIsPartOfABranch(t *testing.T) {
	k := newTaker(t)
	k.build("git update-index --add --cacheinfo 160000," + k.base + ",module; mkdir -p module")
	sh(t, k.Top, "git config diff.ignoreSubmodules all")
	k.brings(false, true)
	k.take("")
	k.brings(true, false)
	k.back()
	k.brings(false, true)
}

// Where a branch that something was taken into has another name now, or none was checked out, it is
// found all the same.
func TestABranchIsFoundWhereItWasTaken(t *testing.T) {
	for name, commands := range map[string][2]string{
		"renamed":  {"git switch -qc feature", "git branch -m feature other; git switch -q main"},
		"detached": {"git switch -q --detach", "git switch -qc other; git switch -q main"},
	} {
		t.Run(name, func(t *testing.T) {
			eachWay(t, func(t *testing.T, k *taker, squash string) {
				k.build("echo A >a.txt")
				sh(t, k.Top, commands[0])
				k.take(squash)
				sh(t, k.Top, commands[1])
				into := map[string]string{"renamed": "feature", "detached": "HEAD"}[name]
				if names, err := k.Elsewhere(t.Context(), k.branch(), []string{"main", into}); err != nil || len(names) != 1 || names[0] != "other" {
					t.Error(names, err)
				}
				sh(t, k.Top, "git switch -q other")
				k.brings(true, false)
				if names, err := k.Elsewhere(t.Context(), k.branch(), []string{"main", into}); err != nil || names != nil {
					t.Error(names, err)
				}
			})
		})
	}
}

// In the middle of something else it can be said how a checkout stands, and nothing is done.
func TestNothingIsTakenInTheMiddleOfSomethingElse(t *testing.T) {
	k := newTaker(t)
	k.build("echo A >a.txt")
	k.take("")
	k.build("echo B >b.txt")
	sh(t, k.Top, "git bisect start")
	k.brings(true, true)
	_, _, err := k.try("")
	_, _, back := k.Revert(t.Context(), k.stands().In, "Revert it")
	for _, err := range []error{err, back} {
		if err == nil || err.Error() != "the repository is in the middle of a bisect: finish it first" {
			t.Error(err)
		}
	}
}

// A file that was moved is there, where it is all that was brought.
func TestAFileThatWasMovedIsThere(t *testing.T) {
	eachWay(t, func(t *testing.T, k *taker, squash string) {
		k.build("echo 'a long enough text' >new.txt")
		k.take(squash)
		k.own("git mv new.txt moved.txt")
		k.brings(true, false)
	})
}

// What people have merged into the branch from elsewhere, and the checkout has by that alone, is not
// taken out with it: they would lose it where the checkout is pushed to.
func TestWhatOthersHaveIsNotTakenOut(t *testing.T) {
	eachWay(t, func(t *testing.T, k *taker, squash string) {
		k.build("echo A >new.txt")
		sh(t, k.Top, "git switch -qc theirs; echo theirs >theirs.txt; git add -A; git commit -qm theirs; git switch -q main")
		if err := k.IsAlone(t.Context(), k.branch(), k.stands().In); err != nil {
			t.Error(err)
		}
		sh(t, k.tree, "git merge -q --no-edit theirs; echo own >own.txt; git add -A; git commit -qm 'by hand'")
		k.take(squash)
		isRefused := func() {
			t.Helper()
			err := k.IsAlone(t.Context(), k.branch(), k.stands().In)
			if err == nil || !strings.Contains(err.Error(), "1 of the commits that came with it are not its own") || !strings.Contains(err.Error(), " theirs)") {
				t.Error(err)
			}
		}
		isRefused()
		sh(t, k.Top, "git branch -qD theirs") // as people do with what was merged
		isRefused()
	})
}

// What people have committed on the branch itself is taken out with it.
func TestWhatIsCommittedOnTheBranchIsItsOwn(t *testing.T) {
	eachWay(t, func(t *testing.T, k *taker, squash string) {
		k.build("echo A >new.txt")
		sh(t, k.tree, "echo own >own.txt; git add -A; git commit -qm 'by hand'")
		k.take(squash)
		if err := k.IsAlone(t.Context(), k.branch(), k.stands().In); err != nil {
			t.Error(err)
		}
	})
}
