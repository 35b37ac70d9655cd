package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// module writes a module with one package and its tests.
func module(t *testing.T, code, tests string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.org/m\n\ngo 1.26\n", "p/p.go": "package p\n\n" + code, "p/p_test.go": "package p\n\nimport \"testing\"\n\n" + tests,
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// changes returns the mutants of some code, each as it is described.
func changes(t *testing.T, code string) []string {
	t.Helper()
	dir := module(t, code, "")
	p, err := load(t.Context(), dir, "./p")
	if err != nil {
		t.Fatal(err)
	}
	mutants, err := breed(p, os.ReadFile)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, m := range mutants {
		list = append(list, m.describe())
	}
	return list
}

func TestEveryKindOfChangeIsMade(t *testing.T) {
	for _, c := range []struct {
		code string
		want []string
	}{
		{"func f(a, b int) bool { return a < b }", []string{"return zero: return a < b => return false", "move boundary: < => <="}},
		{"func f(a int) { if a == 1 { g() } }\nfunc g() {}", []string{"negate comparison: == => !=", "remove statement: g()"}},
		{"func f(a, b bool) { if a && !b { return } }", []string{"negate condition: a && !b => !(a && !b)", "swap logic: && => ||", "drop !: !b => b", "remove statement: return"}},
		{"func f(ok bool) { if !ok { panic(1) } }", []string{"drop !: !ok => ok", "remove statement: panic(1)"}},
		{"func f(a int) int { a += 2; a++; return a * 3 }", []string{
			"swap arithmetic: += => -=", "remove statement: a += 2", "swap arithmetic: ++ => --", "return zero: return a * 3 => return 0", "swap arithmetic: * => /"}},
		{"func f(s string) string { s += \"x\"; return s + \"y\" }", []string{"remove statement: s += \"x\"", "return zero: return s + \"y\" => return \"\""}},
		{"type T struct{ n int }\nfunc f(t T, err error) (T, *T, []int, error) { return t, &t, []int{1}, err }",
			[]string{"return zero: return t, &t, []int{1}, err => return *new(T), nil, nil, nil"}},
		{"func f[E any](e E) E { return e }", []string{"return zero: return e => return *new(E)"}},
		{"func f() (int, error) { return g() }\nfunc g() (int, error) { return 0, nil }", []string{"return zero: return g() => return 0, nil"}},
		{"const c = 1 + 2\nfunc f() []int { return make([]int, 0, c+1) }", []string{"return zero: return make([]int, 0, c+1) => return nil"}},
		{"func f(c chan int) { for i := 0; i < 3; i = i + 1 { select { case c <- i: continue; default: break } } }",
			[]string{"negate condition: i < 3 => !(i < 3)", "move boundary: < => <=", "swap arithmetic: + => -", "remove statement: continue", "remove statement: break"}},
		{"func f() { defer g(); go g(); _ = 1 }\nfunc g() {}", []string{"remove statement: defer g()", "remove statement: go g()"}},
		{"func f() func() int { return func() int { return 1 } }",
			[]string{"return zero: return func() int { return 1 } => return nil", "return zero: return 1 => return 0"}},
	} {
		if got := changes(t, c.code); !slices.Equal(got, c.want) {
			t.Errorf("%s\n got %q\nwant %q", c.code, got, c.want)
		}
	}
}

// digest describes all files below dir.
func digest(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		files[path] = fmt.Sprintf("%x", sha256.Sum256(data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

const code = `func Clamp(n, most int) int {
	if n > most {
		return most
	}
	return n
}

func Sum(list []int) int {
	sum := 0
	for i := 0; i < len(list); i++ {
		sum += list[i]
	}
	return sum
}

func Untested() int { return 1 + 1 }
`

const tests = `func Test(t *testing.T) {
	if Clamp(5, 3) != 3 || Clamp(2, 3) != 2 || Sum([]int{1, 2}) != 3 {
		t.Error("wrong")
	}
}
`

func TestWhatNoTestNoticesSurvives(t *testing.T) {
	dir := module(t, code, tests)
	before := digest(t, dir)
	var out bytes.Buffer
	file := filepath.Join(t.TempDir(), "report.json")
	o := options{root: dir, seed: 1, parallel: 2, limit: 20 * time.Second, memory: 8192, report: file}
	if err := run(t.Context(), o, []string{"./p"}, &out); err != nil {
		t.Fatal(err)
	}
	// That n and most are equal changes nothing: no test can notice.
	want := "./p: 10 of 10 mutants of covered lines tried (seed 1): 9 killed, 0 timed out, 1 survived, 0 did not build: 90.0 % died\n" +
		"  survived p/p.go:4:7: move boundary: > => >=\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", &out, want)
	}
	if after := digest(t, dir); !maps.Equal(before, after) {
		t.Error("the tree was changed")
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var reports []report
	if err := json.Unmarshal(data, &reports); err != nil {
		t.Fatal(err)
	}
	if len(reports) != 1 || len(reports[0].Tried) != 10 || reports[0].Survived != 1 || reports[0].Tried[0].Line != 4 || reports[0].Tried[0].File != "p/p.go" {
		t.Errorf("the report is %s", data)
	}
	if o.least = 95; run(t.Context(), o, []string{"./p"}, &out) == nil {
		t.Error("90 % are taken for 95")
	}
}

func TestPlacesAndTestsMayBeChosen(t *testing.T) {
	dir := module(t, code, "func TestClamp(t *testing.T) {\n\tif Clamp(5, 3) != 3 {\n\t\tt.Error(1)\n\t}\n}\n\nfunc TestSum(t *testing.T) {\n\tif Clamp(2, 3)+Sum([]int{1, 2}) != 5 {\n\t\tt.Error(1)\n\t}\n}\n")
	for _, c := range []struct{ at, only, want string }{
		{"p/p.go:4", "", "./p: 2 of 2 mutants of covered lines tried (seed 0): 1 killed"},
		{"p/p.go", "Clamp", "./p: 3 of 3 mutants of covered lines tried (seed 0): 2 killed"},
		{"p/q.go", "", "./p: 0 of 0 mutants"},
	} {
		var out bytes.Buffer
		o := options{root: dir, parallel: 2, limit: 20 * time.Second, at: c.at, only: c.only}
		if err := run(t.Context(), o, []string{"./p"}, &out); err != nil || !strings.HasPrefix(out.String(), c.want) {
			t.Errorf("at %s, tests %s: %v, %s", c.at, c.only, err, &out)
		}
	}
}

// A test that cannot be run by a program that counts what is reached counts like any other.
func TestATestThatFailsOnlyWhileItIsCountedIsRun(t *testing.T) {
	dir := module(t, code, "func Test(t *testing.T) {\n\tif Clamp(5, 3) != 3 || testing.CoverMode() != \"\" {\n\t\tt.Error(1)\n\t}\n}\n")
	var out bytes.Buffer
	if err := run(t.Context(), options{root: dir, parallel: 2, limit: 20 * time.Second}, []string{"./p"}, &out); err != nil {
		t.Fatal(err)
	}
	if want := "./p: 3 of 3 mutants of covered lines tried (seed 0): 2 killed"; !strings.HasPrefix(out.String(), want) {
		t.Error(out.String())
	}
}

func TestAPackageMayBeTestedByAnother(t *testing.T) {
	dir := module(t, code, "")
	for name, text := range map[string]string{
		"q/q.go":      "package q\n",
		"q/q_test.go": "package q\n\nimport (\n\t\"testing\"\n\n\t\"example.org/m/p\"\n)\n\nfunc Test(t *testing.T) {\n\tif p.Clamp(5, 3) != 3 {\n\t\tt.Error(1)\n\t}\n}\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join(dir, "p/p_test.go")); err != nil {
		t.Fatal(err)
	}
	o := options{root: dir, seed: 1, parallel: 2, limit: 20 * time.Second}
	if err := run(t.Context(), o, []string{"./p"}, new(bytes.Buffer)); err == nil || !strings.Contains(err.Error(), "it has no tests") {
		t.Error(err)
	}
	var out bytes.Buffer
	if err := run(t.Context(), o, []string{"./p=./q"}, &out); err != nil {
		t.Fatal(err)
	}
	if want := "./p=./q: 3 of 3 mutants of covered lines tried (seed 1): 2 killed, 0 timed out, 1 survived"; !strings.HasPrefix(out.String(), want) {
		t.Error(out.String())
	}
}

func TestAMutantThatDoesNotEndIsTimedOut(t *testing.T) {
	dir := module(t, "func F(done bool) {\n\tfor !done {\n\t\tdone = true\n\t}\n}\n", "func Test(t *testing.T) { F(false) }\n")
	var out bytes.Buffer
	if err := run(t.Context(), options{root: dir, parallel: 1, limit: time.Second}, []string{"./p"}, &out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), " 1 timed out, ") || !strings.Contains(out.String(), "drop !: !done => done") {
		t.Error(out.String())
	}
}

func TestAMutantThatFillsTheMemoryDies(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux bounds the address space of a process")
	}
	dir := module(t, "func F(done bool) (all [][]byte) {\n\tfor !done {\n\t\tall = append(all, make([]byte, 1<<24))\n\t\tdone = true\n\t}\n\treturn all\n}\n",
		"func Test(t *testing.T) { F(false) }\n")
	var out bytes.Buffer
	if err := run(t.Context(), options{root: dir, parallel: 1, limit: time.Minute, memory: 1024}, []string{"./p"}, &out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), " 1 killed, 0 timed out, ") {
		t.Error(out.String())
	}
}

func TestASampleIsTheSameForTheSameSeed(t *testing.T) {
	all := make([]mutant, 100)
	for i := range all {
		all[i].Line = i
	}
	first, again, other := sample(all, 10, 1), sample(all, 10, 1), sample(all, 10, 2)
	if len(first) != 10 || !slices.Equal(first, again) || slices.Equal(first, other) {
		t.Errorf("%v, %v, %v", first, again, other)
	}
	if !slices.IsSortedFunc(first, func(a, b mutant) int { return a.Line - b.Line }) {
		t.Error("the sample is out of order")
	}
	if len(sample(all, 0, 1)) != 100 || len(sample(all, 1000, 1)) != 100 {
		t.Error("all are not all")
	}
}

func TestWhatCannotBeTriedIsAnError(t *testing.T) {
	for want, dir := range map[string]string{
		"its tests fail as they are": module(t, code, "func Test(t *testing.T) { t.Error(1) }\n"),
		"its tests do not build":     module(t, code, "func Test(t *testing.T) { missing() }\n"),
		"undefined: missing":         module(t, "func F() { missing() }\n", "func Test(t *testing.T) {}\n"),
	} {
		var out bytes.Buffer
		if err := run(t.Context(), options{root: dir}, []string{"./p"}, &out); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v; want %s", err, want)
		}
	}
	if err := run(t.Context(), options{root: t.TempDir()}, []string{"./gone"}, new(bytes.Buffer)); err == nil {
		t.Error("a package that is not there was tried")
	}
	if err := run(t.Context(), options{}, nil, new(bytes.Buffer)); err == nil {
		t.Error("no package is taken for all")
	}
}

func TestFastTestsThatReachAMutantRunFirst(t *testing.T) {
	at := func(line int) coverage {
		return coverage{"p.go": {{StartLine: line, StartCol: 1, EndLine: line, EndCol: 80, Count: 1}}}
	}
	tests := []reach{{"A", at(1), time.Second}, {"B", at(2), time.Second}, {"C", at(1), 3 * time.Second}, {"D", at(1), 7 * time.Second}, {"E", at(1), 8 * time.Second}, {"F", at(1), time.Minute}}
	for line, want := range map[int][]string{1: {"^(A|C)$", "^(D|E)$", "^(F)$"}, 2: {"^(B)$"}, 3: nil} {
		got, took := rounds(tests, &mutant{path: "p.go", Line: line, Column: 5})
		if !slices.Equal(got, want) || len(took) != len(want) || len(took) == 3 && (took[0] != 4*time.Second || took[1] != 15*time.Second || took[2] != time.Minute) {
			t.Errorf("line %d: %q, %s", line, got, took)
		}
	}
}
