package config

import (
	"strings"
	"testing"
)

// An address that nothing is known of is no file's name, and what is in it is not shown.
func TestStoresAndFilesThatAreNoneAreRefused(t *testing.T) {
	lookup := func(string) (string, bool) { return "hunter2", true }
	for text, want := range map[string]string{
		"store: mysql://troupe:${PW}@host/db":      `2: store: "mysql" is no kind of store`,
		"store: postgress://troupe:hunter2@host/d": `did you mean postgres?`,
		"store: Postgres://troupe:hunter2@host/d":  `did you mean postgres?`,
		"store: postgres:/troupe:hunter2@host/d":   "postgres://user:password@host/database",
		"store: postgres:troupe:hunter2@host/d":    "postgres://user:password@host/database",
		"store: sqlite:///srv/troupe.db":           "write the name of a file as it is",
		"store: troupe:hunter2://host":             "postgres://user:password@host/database",
		"store: host=127.0.0.1 password=hunter2":   "2: store: a database is told by its address, not by words such as host=: postgres://user:password@host/database",
		"store: password=hunter2":                  "postgres://user:password@host/database",
		"store: redis:hunter2":                     `2: store: "redis" is no kind of store`,
		"files: https://key:hunter2@host/bucket":   "2: files must be store, directory or s3://BUCKET/PREFIX?region=REGION",
		"files: s3:/hunter2":                       "2: files must be",
	} {
		_, err := Parse(Name, []byte("model: rehearsal\n"+text+"\n"), lookup)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v; want %s", text, err, want)
		}
	}
	for _, text := range []string{"store: postgres://u:p@host/d", "store: postgresql://host/d", "store: here/troupe.db", `store: 'C:\data\troupe.db'`, "store: C:/data/troupe.db", "store: a:b.db", "files: store", "files: directory", "files: s3://bucket"} {
		if _, err := Parse(Name, []byte(text), lookup); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}
