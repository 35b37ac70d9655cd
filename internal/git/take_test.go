package git

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A taker takes a branch, "next", whose commits come in a worktree, into a checkout, and notes what
// that has brought.
type taker struct {
	*Repo
	t          *testing.T
	tree, base string
	parts      []Part
}

func newTaker(t *testing.T) *taker {
	r := newRepo(t)
	tree := filepath.Join(t.TempDir(), "next")
	sh(t, r.Top, "git worktree add -q -b next "+tree)
	return &taker{r, t, tree, headOf2(t, r), nil}
}

// mark is what the messages of the branch's own commits have.
const mark = "Delivered-by: next"

// branch is what is known of the branch.
func (k *taker) branch() Branch {
	return Branch{Name: "next", Base: k.base, Mark: mark, Brought: k.parts}
}

// build commits to the branch what a command has changed, own to the checkout.
func (k *taker) build(command string) {
	k.t.Helper()
	sh(k.t, k.tree, "set -e; "+command+"; git add -A; git commit -qm build -m '"+mark+"'")
}

func (k *taker) own(command string) {
	k.t.Helper()
	sh(k.t, k.Top, "set -e; "+command+"; git add -A; git commit -qm own")
}

// has checks what files there are in the checkout, and that it is clean.
func (k *taker) has(want string) {
	k.t.Helper()
	if got := sh(k.t, k.Top, "for f in $(git ls-files); do echo $f $(cat $f); done; git status --porcelain"); strings.TrimSpace(got) != want {
		k.t.Fatalf("it has\n%s, want\n%s", got, want)
	}
}

// try takes the branch, as one commit where squash has a message.
func (k *taker) try(squash string) (before, after string, err error) {
	k.t.Helper()
	s, after, err := k.Merge(k.t.Context(), k.branch(), "Merge it", squash)
	if err != nil {
		return "", "", err
	}
	if after != s.Head {
		err = k.Advance(k.t.Context(), after)
		k.parts = append(s.Parts, Part{Before: s.Head, After: after, Tip: s.Tip})
	}
	return s.Head, after, err
}

func (k *taker) take(squash string) (before, after string) {
	k.t.Helper()
	before, after, err := k.try(squash)
	if err != nil {
		k.t.Fatal(err)
	}
	return before, after
}

func (k *taker) stands() *Standing {
	k.t.Helper()
	s, err := k.Stands(k.t.Context(), k.branch())
	if err != nil {
		k.t.Fatal(err)
	}
	return s
}

// back takes back all that is there.
func (k *taker) back() {
	k.t.Helper()
	s := k.stands()
	_, commit, err := k.Revert(k.t.Context(), s.In, "Revert it")
	if err == nil {
		err = k.Advance(k.t.Context(), commit)
	}
	if err != nil {
		k.t.Fatal(err)
	}
	for i, part := range s.Parts {
		if slices.Contains(s.In, part) {
			s.Parts[i].Undone = commit
		}
	}
	k.parts = s.Parts
}

// brings checks whether something of the branch is in the checkout, and whether it has more.
func (k *taker) brings(isIn, more bool) {
	k.t.Helper()
	s := k.stands()
	has, err := k.Brings(k.t.Context(), s)
	if err != nil || len(s.In) > 0 != isIn || has != more {
		k.t.Fatalf("in is %v, and there is more: %v, %v", s.In, has, err)
	}
}

const untouched = "a.txt a\nsub/b.txt b"

// squashes are both ways to take a branch.
var squashes = map[string]string{"merge": "", "squash": "all at once"}

func eachWay(t *testing.T, do func(t *testing.T, k *taker, squash string)) {
	for name, squash := range squashes {
		t.Run(name, func(t *testing.T) { do(t, newTaker(t), squash) })
	}
}

func TestABranchIsTakenAndTakenBack(t *testing.T) {
	eachWay(t, func(t *testing.T, k *taker, squash string) {
		k.brings(false, false)
		k.build("echo A >a.txt")
		k.brings(false, true)
		if before, after := k.take(squash); before != k.base || (squash == "") != (after == headOf2(t, &Repo{Top: k.tree})) {
			t.Fatalf("%s to %s", before, after)
		}
		k.has("a.txt A\nsub/b.txt b")
		k.brings(true, false)
		if got := sh(t, k.Top, "git log -1 --format=%s"); squash != "" && got != "all at once\n" {
			t.Fatal(got)
		}
		if before, after := k.take(squash); before != after {
			t.Fatal("it is taken twice")
		}
		k.back()
		k.has(untouched)
		k.brings(false, true)
	})
}

// What somebody has staged is theirs, and it stays.
func TestABranchIsTakenBesideWhatIsStaged(t *testing.T) {
	eachWay(t, func(t *testing.T, k *taker, squash string) {
		k.build("echo A >a.txt")
		k.own("echo more >m")
		sh(t, k.Top, "echo mine >mine; git add mine")
		k.take(squash)
		if got := sh(t, k.Top, "cat a.txt m; git status --porcelain; git show --format= --name-only --first-parent -m HEAD"); got != "A\nmore\nA  mine\na.txt\n" {
			t.Fatal(got)
		}
		if got := strings.Count(sh(t, k.Top, "git log -1 --format=%P"), " "); (got == 1) != (squash == "") {
			t.Fatal(got)
		}
		k.back()
		if got := sh(t, k.Top, "cat a.txt m; git status --porcelain"); got != "a\nmore\nA  mine\n" {
			t.Fatal(got)
		}
	})
}

// What comes to a branch after it was taken is taken by itself, and taken back with what came
// before, whatever was committed in between.
func TestALaterPartIsTakenAndAllIsTakenBack(t *testing.T) {
	for _, first := range squashes {
		for _, second := range squashes {
			t.Run(first+", "+second, func(t *testing.T) {
				k := newTaker(t)
				k.build("echo 1 >new.txt; printf '1\\n2\\n' >a.txt")
				k.take(first)
				k.own("echo mine >mine.txt")
				k.build("echo 2 >new.txt; printf '1\\n3\\n' >a.txt")
				k.brings(true, true)
				k.take(second)
				k.has("a.txt 1 3\nmine.txt mine\nnew.txt 2\nsub/b.txt b")
				k.back()
				k.has("a.txt a\nmine.txt mine\nsub/b.txt b")
				k.brings(false, true)
				k.build("echo 3 >new.txt")
				k.take(second)
				k.has("a.txt 1 3\nmine.txt mine\nnew.txt 3\nsub/b.txt b")
			})
		}
	}
}

// Whoever undoes a take with git's own means has it undone: it is not there, and can be taken again.
func TestWhatWasUndoneByHandIsTakenAgain(t *testing.T) {
	for name, undo := range map[string]string{
		"revert":          "git revert --no-edit HEAD",
		"revert and more": "git revert --no-edit HEAD; echo more >more.txt; git add -A; git commit -qm more; rm more.txt; git commit -qam less",
		"reset":           "git reset -q --hard HEAD~1",
		"reset elsewhere": "git branch kept; git reset -q --hard HEAD~1",
	} {
		for how, squash := range squashes {
			t.Run(name+", "+how, func(t *testing.T) {
				k := newTaker(t)
				k.build("echo A >a.txt")
				k.take(squash)
				sh(t, k.Top, undo)
				k.has(untouched)
				k.brings(false, true)
				k.build("echo more >wish.txt")
				k.take(squash)
				k.has("a.txt A\nsub/b.txt b\nwish.txt more")
				k.brings(true, false)
				k.back()
				k.has(untouched)
			})
		}
	}
}

// Of what was taken at two times, what was undone by hand comes again, and nothing else.
func TestTheLaterPartIsUndoneByHand(t *testing.T) {
	k := newTaker(t)
	k.build("echo A >a.txt")
	k.take("one")
	k.build("echo B >>a.txt")
	k.take("two")
	sh(t, k.Top, "git revert --no-edit HEAD")
	k.own("echo mine >sub/b.txt")
	k.brings(true, true)
	k.take("three")
	k.has("a.txt A B\nsub/b.txt mine")
	sh(t, k.Top, "git revert --no-edit HEAD")
	k.brings(true, true)
}

// What somebody has changed since stays as they have it.
func TestWhatWasChangedSinceStays(t *testing.T) {
	k := newTaker(t)
	k.build("echo A >a.txt; echo new >new.txt; echo other >other.txt")
	k.take("")
	k.own("echo mine >new.txt; git rm -q other.txt")
	k.brings(true, false)
	k.build("echo wish >wish.txt")
	k.take("")
	k.has("a.txt A\nnew.txt mine\nsub/b.txt b\nwish.txt wish")
	_, _, err := k.Revert(t.Context(), k.stands().In, "Revert it")
	if conflict, ok := errors.AsType[*ConflictError](err); !ok || len(conflict.Files) != 1 || conflict.Files[0] != "new.txt" {
		t.Fatal(err)
	}
}

// Whoever undoes a take and then changes what it had changed has undone it still: it is not there, and
// what stands in the way of another take is said.
func TestWhatWasUndoneAndChangedSinceIsNotThere(t *testing.T) {
	eachWay(t, func(t *testing.T, k *taker, squash string) {
		k.build("echo A >a.txt; echo 'a long enough text' >new.txt")
		k.take(squash)
		k.build("echo B >>a.txt; echo 'and more' >>new.txt")
		k.take(squash)
		sh(t, k.Top, "git revert --no-edit HEAD HEAD~1")
		k.own("printf 'a long enough text\nand more\n' >copy.txt") // which git takes for new.txt
		k.brings(false, true)
		k.own("echo mine >a.txt")
		k.brings(false, true)
		_, _, err := k.try(squash)
		if conflict, ok := errors.AsType[*ConflictError](err); !ok || strings.Join(conflict.Files, " ") != "a.txt" {
			t.Fatal(err)
		}
		k.own("echo a >a.txt")
		k.take(squash)
		k.has("a.txt A B\ncopy.txt a long enough text and more\nnew.txt a long enough text and more\nsub/b.txt b")
	})
}

// It is so where that is one commit, as of a request that was merged.
func TestWhatWasUndoneAndChangedAtOnceIsNotThere(t *testing.T) {
	eachWay(t, func(t *testing.T, k *taker, squash string) {
		k.build("printf 'line two\\n' >a.txt; git mv sub/b.txt b2.txt; echo new >new.txt")
		k.take(squash)
		k.own("git rm -qf new.txt b2.txt; git checkout -q " + k.base + " -- sub/b.txt; echo mine >a.txt")
		k.brings(false, true)
		_, _, err := k.try(squash)
		if conflict, ok := errors.AsType[*ConflictError](err); !ok || strings.Join(conflict.Files, " ") != "a.txt" {
			t.Fatal(err)
		}
	})
}

// A branch that somebody has set back brings what it has, and takes nothing out.
func TestABranchThatWasSetBackTakesNothingOut(t *testing.T) {
	eachWay(t, func(t *testing.T, k *taker, squash string) {
		k.build("echo docs >docs.txt")
		k.build("echo A >a.txt; echo new >new.txt")
		k.take(squash)
		sh(t, k.tree, "git reset -q --hard HEAD~1")
		k.brings(true, false)
		k.build("echo wish >wish.txt")
		k.take(squash)
		k.has("a.txt A\ndocs.txt docs\nnew.txt new\nsub/b.txt b\nwish.txt wish")
		k.back()
		k.has(untouched)
	})
}

// A part that was taken again after it was reset away is one.
func TestWhatIsTakenAgainIsOnePart(t *testing.T) {
	k := newTaker(t)
	k.build("echo 'a long enough text' >new.txt")
	k.take("one")
	sh(t, k.Top, "git reset -q --hard HEAD~1")
	k.own("echo mine >mine.txt")
	k.take("one")
	k.own("cp new.txt copy.txt")
	if s := k.stands(); len(s.Parts) != 1 {
		t.Fatalf("%+v", s.Parts)
	}
	k.back()
	k.has("a.txt a\ncopy.txt a long enough text\nmine.txt mine\nsub/b.txt b")
}

// All that was taken is taken back where the history was made anew in between.
func TestWhatWasTakenBeforeTheHistoryWasMadeAnewIsTakenBack(t *testing.T) {
	eachWay(t, func(t *testing.T, k *taker, squash string) {
		k.own("echo mine >mine.txt")
		k.build("echo A >a.txt; echo new >new.txt")
		k.take(squash)
		sh(t, k.Top, "git reset -q --soft HEAD~1; git commit -qm anew")
		k.brings(true, false)
		k.build("echo B >a.txt")
		k.take(squash)
		k.has("a.txt B\nmine.txt mine\nnew.txt new\nsub/b.txt b")
		k.back()
		k.has("a.txt a\nmine.txt mine\nsub/b.txt b")
	})
}

// What somebody has brought by hand in other commits is nothing to take, and nothing of it is taken back.
func TestWhatWasBroughtInOtherCommitsIsNobodysTake(t *testing.T) {
	eachWay(t, func(t *testing.T, k *taker, squash string) {
		k.own("echo mine >mine.txt")
		k.build("echo A >a.txt")
		sh(t, k.Top, "git cherry-pick next")
		if before, after := k.take(squash); before != after {
			t.Fatal("it is taken")
		}
		k.brings(false, false)
	})
}

// A folder that a branch has renamed says nothing of the files that others put there.
func TestARenamedFolderTakesNothingWithIt(t *testing.T) {
	k := newTaker(t)
	sh(t, k.Top, "git config merge.directoryRenames true")
	k.build("git mv sub lib")
	k.own("echo mine >sub/mine.txt")
	k.take("")
	k.own("echo mine >lib/own.txt")
	k.back()
	k.has("a.txt a\nlib/own.txt mine\nsub/b.txt b\nsub/mine.txt mine")
}

// A branch may be merged by hand, and the history may be made anew: what is there is there.
func TestWhatSomebodyHasTakenByHandIsThere(t *testing.T) {
	k := newTaker(t)
	k.build("echo A >a.txt")
	sh(t, k.Top, "git merge -q --no-ff --no-edit next")
	k.brings(true, false)
	k.build("echo new >new.txt")
	k.brings(true, true)
	k.take("")
	k.back()
	k.has(untouched)
	k.take("")
	k.has("a.txt A\nnew.txt new\nsub/b.txt b")
	sh(t, k.Top, "git reset -q --soft HEAD~1; git commit -qm anew")
	k.brings(true, false)
	k.back()
	k.has(untouched)
}

// What a branch brought into one branch, it has not brought into another.
func TestABranchIsTakenIntoTwoBranches(t *testing.T) {
	k := newTaker(t)
	k.build("echo A >a.txt")
	sh(t, k.Top, "git switch -qc feature; echo f >f.txt; git add -A; git commit -qm f")
	k.take("squashed")
	sh(t, k.Top, "git switch -q main")
	k.brings(false, true)
	if s := k.stands(); len(s.others) != 1 {
		t.Fatalf("%+v", s)
	}
	k.take("squashed")
	k.has("a.txt A\nsub/b.txt b")
	sh(t, k.Top, "git switch -q feature")
	k.brings(true, false)
	k.back()
	k.has("a.txt a\nf.txt f\nsub/b.txt b")
	isIn := func(want bool) {
		t.Helper()
		if has, err := k.isIn(t.Context(), "main", k.branch()); err != nil || has != want {
			t.Fatal(has, err)
		}
	}
	isIn(true)
	sh(t, k.Top, "git switch -q main")
	k.brings(true, false)
	k.back()
	isIn(false)
	if has, err := k.isIn(t.Context(), "nowhere", k.branch()); err != nil || has {
		t.Fatal(has, err)
	}
}

func TestWhatStandsInTheWayOfATake(t *testing.T) {
	refused := func(k *taker, why string, files ...string) {
		t.Helper()
		before := fingerprint(t, k.Repo)
		_, _, err := k.try("")
		if conflict, ok := errors.AsType[*ConflictError](err); !ok || conflict.Why != why || strings.Join(conflict.Files, " ") != strings.Join(files, " ") {
			t.Fatal(err)
		}
		if fingerprint(t, k.Repo) != before {
			t.Fatal("something was done")
		}
	}
	t.Run("changed on both sides", func(t *testing.T) {
		k := newTaker(t)
		k.build("echo A >a.txt")
		k.own("echo mine >a.txt")
		refused(k, bothChanged, "a.txt")
	})
	t.Run("changed since it was taken back", func(t *testing.T) {
		k := newTaker(t)
		k.build("echo A >a.txt")
		k.take("")
		k.back()
		k.own("echo mine >a.txt")
		k.brings(false, true)
		refused(k, bothChanged, "a.txt")
	})
	t.Run("not committed", func(t *testing.T) {
		k := newTaker(t)
		k.build("echo A >a.txt")
		sh(t, k.Top, "echo mine >a.txt; echo other >sub/b.txt")
		refused(k, "these files have changes in your checkout that are not committed", "a.txt")
		sh(t, k.Top, "git checkout -q a.txt")
		k.take("")
		if got := sh(t, k.Top, "cat sub/b.txt"); got != "other\n" {
			t.Fatal("what was changed elsewhere is lost: ", got)
		}
	})
	t.Run("no branch", func(t *testing.T) {
		k := newTaker(t)
		k.build("echo A >a.txt")
		k.take("")
		sh(t, k.Top, "git worktree remove "+k.tree+"; git branch -qD next")
		if _, _, err := k.try(""); err == nil || err.Error() != "there is no branch next" {
			t.Fatal(err)
		}
		k.back()
		k.has(untouched)
	})
}

// Whatever is done in whatever order, by the program and by hand: a take brings all that the branch
// has, taking it back leaves nothing of it, and what people have committed themselves stays.
func TestTakesInAnyOrder(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { anyOrder(newTaker(t), rand.New(rand.NewPCG(seed, 1))) })
	}
}

func anyOrder(k *taker, random *rand.Rand) {
	type taken struct {
		before, after string
		had, mine     int
	}
	var built, has, mine int
	var takes []taken
	for n := range 12 {
		act := []string{"build", "build", "own", "merge", "squash", "squash", "back", "revert", "reset"}[random.IntN(9)]
		switch {
		case act == "build":
			built++
			k.build(fmt.Sprintf("echo %d >d.txt; echo %d >d%d.txt", built, built, built))
		case act == "own":
			mine++
			k.own(fmt.Sprintf("echo %d-%d >mine.txt; echo %d >mine%d.txt", n, mine, mine, mine))
		case act == "merge" || act == "squash":
			if before, after := k.take(map[string]string{"squash": "all"}[act]); before != after {
				takes = append(takes, taken{before, after, has, mine})
			}
			has = built
		case act == "back" && has > 0:
			k.back()
			has, takes = 0, nil
		case act == "revert" && len(takes) > 0: // with git, what came last
			last := takes[len(takes)-1]
			k.own("git diff --binary " + last.after + " " + last.before + " | git apply --index")
			has, takes = last.had, takes[:len(takes)-1]
		case act == "reset" && len(takes) > 0:
			last := takes[len(takes)-1]
			sh(k.t, k.Top, "git reset -q --hard "+last.before)
			has, mine, takes = last.had, last.mine, takes[:len(takes)-1]
		}
		k.t.Log(act, built, has, mine)
		want := map[bool]string{true: fmt.Sprintln(has)}[has > 0] + strings.Repeat("d\n", has) + strings.Repeat("m\n", mine)
		if got := sh(k.t, k.Top, "test ! -e d.txt || cat d.txt; for f in d[0-9]*.txt; do test ! -e $f || echo d; done; for f in mine[0-9]*.txt; do test ! -e $f || echo m; done; git status --porcelain"); got != want {
			k.t.Fatalf("after %s it has\n%s, want\n%s", act, got, want)
		}
		k.brings(has > 0, has < built)
	}
}
