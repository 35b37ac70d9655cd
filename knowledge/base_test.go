package knowledge

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestWhatIsUploadedIsFoundAfterTheFileIsOpenedAgain(t *testing.T) {
	base, path := newBase(t)
	mustUpload(t, base, Document{Name: "plan.md", Content: "# Plan\n\n## Step 1\n\nBuild the login form.\n", Description: "the plan", Tags: []string{"plan", "x"}})
	if err := base.Close(); err != nil {
		t.Fatal(err)
	}
	base = openAt(t, path)
	list := documentsOf(t, base)
	if len(list) != 1 {
		t.Fatalf("there are %v", list)
	}
	d, err := base.Document(t.Context(), list[0].ID)
	if err != nil || d.Content != "# Plan\n\n## Step 1\n\nBuild the login form.\n" || d.Description != "the plan" || strings.Join(d.Tags, ",") != "plan,x" {
		t.Errorf("kept was %+v, %v", d, err)
	}
	if list[0].SHA256 != hash(d.Content) || list[0].Size != len(d.Content) || list[0].Uploaded.IsZero() {
		t.Errorf("known of it is %+v", list[0])
	}
	found := mustQuery(t, base, "What is to be built in the first step?")
	if len(found) == 0 || found[0].Document != "plan.md" || found[0].Heading != "Plan > Step 1" || found[0].Score <= 0 {
		t.Errorf("found was %+v", found)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v", info.Mode(), err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".*")); len(left) > 0 {
		t.Errorf("left behind were %v", left)
	}
}

func TestTheSameUploadTwiceIsOne(t *testing.T) {
	base, _ := newBase(t)
	uploadTwice(t, base)
}

func uploadTwice(t *testing.T, base *Base) {
	first, second := Document{Name: "a.md", Content: "apples", Key: "1"}, Document{Name: "a.md", Content: "pears", Key: "2"}
	again := Document{Name: "a.md", Content: "apples", Key: "3"}
	mustUpload(t, base, first, first, again, second, second)
	mustUpload(t, base, first, again) // what comes late does not undo what came after it
	if list := documentsOf(t, base); len(list) != 1 || list[0].SHA256 != hash("pears") {
		t.Errorf("there are %+v", list)
	}
	if found := mustQuery(t, base, "apples"); len(found) > 0 {
		t.Errorf("an old version is found: %+v", found)
	}
	if d, err := base.Document(t.Context(), 1); err != nil || d.Content != "apples" {
		t.Errorf("the old version is %+v, %v", d, err)
	}
	if _, err := base.Document(t.Context(), 3); !errors.Is(err, ErrNotFound) {
		t.Errorf("there is a third version: %v", err)
	}
	if err := base.Upload(t.Context(), Document{Name: "a.md", Content: "plums", Key: "2"}); !errors.Is(err, ErrKey) {
		t.Errorf("a key for two contents: %v", err)
	}
	mustUpload(t, base, Document{Name: "a.md", Content: "apples"}) // on purpose
	if found := mustQuery(t, base, "apples"); len(found) != 1 {
		t.Errorf("the content that is back is found as %+v", found)
	}
}

func TestWhatCannotBeKeptIsRefused(t *testing.T) {
	base, _ := newBase(t)
	refuseWhatCannotBeKept(t, base)
}

func refuseWhatCannotBeKept(t *testing.T, base *Base) {
	for name, d := range map[string]Document{
		"no name":          {Content: "x"},
		"a name of two":    {Name: "a\nb"},
		"a hidden name":    {Name: "a\u202eb"},
		"a long name":      {Name: strings.Repeat("x", maxName+1)},
		"too long":         {Name: "a", Content: strings.Repeat("x", maxContent+1)},
		"not UTF-8":        {Name: "a", Content: "\xff"},
		"a key not UTF-8":  {Name: "a", Key: "\xff"},
		"much description": {Name: "a", Description: strings.Repeat("x", 3*maxAbout)},
	} {
		if err := base.Upload(t.Context(), d); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	mustUpload(t, base, Document{Name: "largest", Content: strings.Repeat("word ", maxContent/5)}, Document{Name: "empty"})
	if hits, err := base.Search(t.Context(), "empty", 1); err != nil || len(hits) != 1 {
		t.Errorf("found is %v, %v", hits, err)
	}
	if list := documentsOf(t, base); len(list) != 2 {
		t.Errorf("there are %d documents", len(list))
	}
}

func TestUsersSeeNothingOfEachOther(t *testing.T) {
	base, _ := newBase(t)
	seeNothingOfEachOther(t, base)
}

func seeNothingOfEachOther(t *testing.T, base *Base) {
	anna, ben := base.As("anna"), base.As("ben")
	secret := Document{Name: "a.md", Content: "the treasure is under the oak", Key: "k"}
	mustUpload(t, anna, secret)
	id := documentsOf(t, anna)[0].ID
	if found := mustQuery(t, ben, "treasure oak"); len(found) > 0 {
		t.Errorf("ben finds %+v", found)
	}
	if hits, err := ben.Search(t.Context(), hash(secret.Content), 5); err != nil || len(hits) > 0 {
		t.Errorf("ben finds %+v, %v", hits, err)
	}
	if _, err := ben.Document(t.Context(), id); !errors.Is(err, ErrNotFound) {
		t.Errorf("ben reads it: %v", err)
	}
	if err := ben.Delete(t.Context(), id); !errors.Is(err, ErrNotFound) {
		t.Errorf("ben deletes it: %v", err)
	}
	mustUpload(t, ben, secret)
	if err := ben.Delete(t.Context(), documentsOf(t, ben)[0].ID); err != nil {
		t.Error(err)
	}
	if len(documentsOf(t, ben)) != 0 || len(mustQuery(t, ben, "treasure")) != 0 || len(mustQuery(t, anna, "treasure")) != 1 {
		t.Error("deleting ben's document left it, or took anna's")
	}
	mustUpload(t, ben, secret) // its key went with it
	if len(mustQuery(t, ben, "treasure")) != 1 {
		t.Error("what was deleted cannot be uploaded again")
	}
}

func TestPasswordsAreNotKept(t *testing.T) {
	base, path := newBase(t)
	if openAt(t, path).As("x").rounds != iterations {
		t.Error("a guess at a password is cheap")
	}
	if err := base.CreateUser(t.Context(), User{Name: "anna", Role: RoleAdmin}, canary); err != nil {
		t.Fatal(err)
	}
	for _, u := range []User{{Name: "anna"}, {Name: Local}, {Name: ""}, {Name: "ben", Role: "king"}} {
		if err := base.CreateUser(t.Context(), u, canary); !errors.Is(err, ErrInvalid) || strings.Contains(err.Error(), string(canary)) {
			t.Errorf("creating %+v: %v", u, err)
		}
	}
	if u, err := base.admit(t.Context(), "anna", canary); err != nil || u.Role != RoleAdmin {
		t.Errorf("with the password: %+v, %v", u, err)
	}
	for name, password := range map[string]Secret{"anna": canary + "x", "nobody": canary, Local: ""} {
		if _, err := base.admit(t.Context(), name, password); !errors.Is(err, errCredentials) {
			t.Errorf("%s was let in: %v", name, err)
		}
	}
	if err := base.Close(); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(path); err != nil || strings.Contains(string(data), string(canary)) {
		t.Errorf("the password is in the file: %v", err)
	}
}

func TestOneFileServesSeveralProcessesAndHandles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "knowledge.db")
	writers := []string{"one", "two"}
	var tasks sync.WaitGroup
	for _, writer := range writers {
		tasks.Go(func() {
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			for name, value := range childEnv(t, path) {
				cmd.Env = append(cmd.Env, name+"="+value)
			}
			cmd.Env = append(cmd.Env, "KNOWLEDGE_WRITER="+writer)
			if text, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("process %s: %v: %s", writer, err, text)
			}
		})
	}
	for _, writer := range []string{"three", "four", "five"} {
		writers = append(writers, writer)
		tasks.Go(func() {
			base, err := Open(t.Context(), path)
			if err == nil {
				err = errors.Join(uploadMany(t.Context(), base, writer), base.Close())
			}
			if err != nil {
				t.Errorf("handle %s: %v", writer, err)
			}
		})
	}
	tasks.Wait()
	base := openAt(t, path)
	if got, want := len(documentsOf(t, base)), len(writers)*many+1; got != want {
		t.Errorf("there are %d documents, not %d", got, want)
	}
	if found := mustQuery(t, base, "everybody"); len(found) != 1 {
		t.Errorf("the shared document is found as %+v", found)
	}
	var verdict string
	if err := base.db.QueryRow("PRAGMA integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
		t.Errorf("the file is %s, %v", verdict, err)
	}
}

func TestFilesOfOthersAreLeftAlone(t *testing.T) {
	for name, statement := range map[string]string{
		"another program": "CREATE TABLE theirs (x)",
		"newer Troupe":    "PRAGMA application_id = 1416323699; PRAGMA user_version = 99; CREATE TABLE new (x)",
	} {
		path := filepath.Join(t.TempDir(), "their.db")
		db, err := sql.Open("sqlite", path)
		if err == nil {
			_, err = db.Exec(statement)
		}
		if err := errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
		if base, err := Open(t.Context(), path); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: opened as %v, %v", name, base, err)
		}
	}
}

func TestACancelledCallChangesNothing(t *testing.T) {
	base, _ := newBase(t)
	cancelACall(t, base)
}

func cancelACall(t *testing.T, base *Base) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := base.Upload(ctx, Document{Name: "a", Content: "b"}); !errors.Is(err, context.Canceled) {
		t.Errorf("uploading: %v", err)
	}
	if _, err := base.Query(ctx, "b", 1); !errors.Is(err, context.Canceled) {
		t.Errorf("querying: %v", err)
	}
	if list := documentsOf(t, base); len(list) != 0 {
		t.Errorf("there are %v", list)
	}
}
