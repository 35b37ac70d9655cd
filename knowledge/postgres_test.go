package knowledge

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/troupe-dev/troupe/internal/postgrestest"
)

func openOnServer(tb testing.TB, address string) *Base {
	tb.Helper()
	base, err := OpenPostgres(tb.Context(), address)
	if err != nil {
		tb.Fatal(err)
	}
	base.rounds = 10
	tb.Cleanup(func() { base.Close() })
	return base
}

// A base in PostgreSQL does what one in a file does.
func TestABaseInPostgreSQL(t *testing.T) {
	database := postgrestest.Start(t)
	for name, play := range map[string]func(*testing.T, *Base){
		"twice": uploadTwice, "refused": refuseWhatCannotBeKept, "users": seeNothingOfEachOther, "cancelled": cancelACall, "found": findWhatAnswers,
		"people": knowPeople, "odd texts": keepOddTexts,
	} {
		t.Run(name, func(t *testing.T) { play(t, openOnServer(t, database.Schema())) })
	}
	t.Run("copied", func(t *testing.T) { copyThereAndBack(t, database.Schema()) })
	t.Run("many at once", func(t *testing.T) { uploadAtOnce(t, database.Schema()) })
	t.Run("opened again", func(t *testing.T) {
		address := database.Schema()
		mustUpload(t, openOnServer(t, address), Document{Name: "plan.md", Content: "# Plan\n\n## Step 1\n\nBuild the login form.\n", Description: "the plan", Tags: []string{"plan", "x"}})
		again := openOnServer(t, address)
		d, err := again.Document(t.Context(), documentsOf(t, again)[0].ID)
		if err != nil || d.Description != "the plan" || strings.Join(d.Tags, ",") != "plan,x" {
			t.Errorf("kept was %+v, %v", d, err)
		}
		if found := mustQuery(t, again, "What is to be built in the first step?"); len(found) == 0 || found[0].Heading != "Plan > Step 1" || found[0].Score <= 0 {
			t.Errorf("found was %+v", found)
		}
		database.SQL(t, "postgres", "UPDATE "+schemaOf(address)+"_knowledge.version SET number = 99")
		if _, err := OpenPostgres(t.Context(), address); err == nil || !strings.Contains(err.Error(), "newer Troupe") {
			t.Errorf("a base of a newer Troupe: %v", err)
		}
	})
	if _, err := OpenPostgres(t.Context(), "postgres://"+strings.Repeat("x", 10)+":secret word@["); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("a wrong address: %v", err)
	}
}

func schemaOf(address string) string { return address[strings.LastIndex(address, "=")+1:] }

// knowPeople lets people in by their passwords.
func knowPeople(t *testing.T, base *Base) {
	ctx := t.Context()
	if err := base.CreateUser(ctx, User{Name: "anna", Email: "anna@example.org"}, canary); err != nil {
		t.Fatal(err)
	}
	if err := base.CreateUser(ctx, User{Name: "anna"}, canary); !errors.Is(err, ErrInvalid) {
		t.Errorf("a name that is taken: %v", err)
	}
	if u, err := base.admit(ctx, "anna", canary); err != nil || u.Role != RoleUser || u.Email != "anna@example.org" {
		t.Errorf("%+v, %v", u, err)
	}
	for _, name := range []string{"anna", "nobody"} {
		if _, err := base.admit(ctx, name, "wrong"); !errors.Is(err, errCredentials) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if list, err := base.Users(ctx); err != nil || len(list) != 1 || list[0].Name != "anna" {
		t.Errorf("%+v, %v", list, err)
	}
}

// keepOddTexts keeps every character, and finds words whatever marks they have.
func keepOddTexts(t *testing.T, base *Base) {
	odd := Document{Name: "größe.md", Content: "# A\x00B\n\nDie Größe des Café\\s'; — naïve ﬁle. Приветы миру.\x00\n", Description: "a\x00b\\", Key: "k\x00"}
	mustUpload(t, base, odd, odd)
	if d, err := base.Document(t.Context(), documentsOf(t, base)[0].ID); err != nil || d.Content != odd.Content || d.Description != odd.Description {
		t.Errorf("kept was %+v, %v", d, err)
	}
	for _, question := range []string{"grosse größe", "cafe", "NAÏVE", "file", "привет миру", "приветы"} {
		if found := mustQuery(t, base, question); len(found) != 1 || !strings.Contains(found[0].Text, "Café") {
			t.Errorf("%s finds %+v", question, found)
		}
	}
}

// uploadAtOnce has several processes' worth of handles open a new base and upload at the
// same time.
func uploadAtOnce(t *testing.T, address string) {
	var wg sync.WaitGroup
	for _, writer := range []string{"a", "b", "c", "d"} {
		wg.Go(func() {
			base, err := OpenPostgres(context.Background(), address)
			if err == nil {
				err = errors.Join(uploadMany(context.Background(), base, writer), base.Close())
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := len(documentsOf(t, openOnServer(t, address))); n != 4*many+1 {
		t.Errorf("there are %d documents, want %d", n, 4*many+1)
	}
}

// copyThereAndBack moves a base from a file to a server and to another file.
func copyThereAndBack(t *testing.T, address string) {
	file, _ := newBase(t)
	if err := file.CreateUser(t.Context(), User{Name: "anna"}, canary); err != nil {
		t.Fatal(err)
	}
	mustUpload(t, file, Document{Name: "a.md", Content: "apples", Key: "1"}, Document{Name: "a.md", Content: "pears", Key: "2", Tags: []string{"x"}})
	mustUpload(t, file.As("anna"), Document{Name: "a.md", Content: "plums"})
	server := openOnServer(t, address)
	back, _ := newBase(t)
	for i, way := range []struct{ from, to *Base }{{file, server}, {server, back}} {
		if added, err := Copy(t.Context(), way.from, way.to); err != nil || added != 2 {
			t.Fatalf("copy %d: %d documents, %v", i, added, err)
		}
		if added, err := Copy(t.Context(), way.from, way.to); err != nil || added != 0 {
			t.Errorf("copied again %d: %d documents, %v", i, added, err)
		}
		list := documentsOf(t, way.to)
		if len(list) != 1 || list[0].SHA256 != hash("pears") || list[0].Tags[0] != "x" || !list[0].Uploaded.Equal(documentsOf(t, file)[0].Uploaded) {
			t.Errorf("copy %d has %+v", i, list)
		}
		if len(mustQuery(t, way.to, "apples")) != 0 || len(mustQuery(t, way.to, "pears")) != 1 || len(mustQuery(t, way.to.As("anna"), "plums")) != 1 {
			t.Errorf("copy %d finds something else", i)
		}
		mustUpload(t, way.to, Document{Name: "a.md", Content: "apples", Key: "1"}) // its key is known
		if documentsOf(t, way.to)[0].SHA256 != hash("pears") {
			t.Errorf("copy %d has forgotten a key", i)
		}
		if _, err := way.to.admit(t.Context(), "anna", canary); err != nil {
			t.Error(err)
		}
	}
}
