package sdks

import (
	"bytes"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rclone/gofakes3"
	"github.com/rclone/gofakes3/s3mem"

	"github.com/troupe-dev/troupe/store/bucket"
)

// The server that rclone serves S3 with understands our requests, and checks how they are signed.
func TestAnObjectStoreTakesOurRequests(t *testing.T) {
	backend := s3mem.New()
	if err := backend.CreateBucket(t.Context(), "files"); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(gofakes3.New(backend, gofakes3.WithV4Auth(map[string]string{"ann": "secret"})).Server())
	defer server.Close()
	open := func(address string, keys map[string]string) *bucket.Bucket {
		t.Helper()
		b, err := bucket.Open(address+"?region=eu-central-1&endpoint="+server.URL, func(name string) string { return keys[name] })
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	keys := map[string]string{"AWS_ACCESS_KEY_ID": "ann", "AWS_SECRET_ACCESS_KEY": "secret"}
	b := open("s3://files/troupe/shared", keys)
	ctx := t.Context()
	if err := b.Check(ctx); err != nil {
		t.Fatal(err)
	}
	for _, content := range []string{"", "a\x00binary\xff file", strings.Repeat("large ", 1<<20)} {
		if err := b.Put(ctx, "h1-x", []byte(content)); err != nil {
			t.Fatal(err)
		}
		if got, err := b.Get(ctx, "h1-x"); err != nil || !bytes.Equal(got, []byte(content)) {
			t.Errorf("%d bytes of %d, %v", len(got), len(content), err)
		}
	}
	if _, err := backend.HeadObject(t.Context(), "files", "troupe/shared/h1-x"); err != nil {
		t.Errorf("it is not where it was put: %v", err)
	}
	for range 2 {
		if err := b.Delete(ctx, "h1-x"); err != nil {
			t.Errorf("delete: %v", err)
		}
	}
	for _, c := range []struct {
		name, address, secret, want string
	}{
		{"it is not there", "s3://files/troupe/shared", "secret", "NoSuchKey"},
		{"another secret", "s3://files", "wrong", "AWS_SECRET_ACCESS_KEY"},
		{"no such bucket", "s3://nowhere", "secret", "make the bucket"},
	} {
		_, err := open(c.address, map[string]string{"AWS_ACCESS_KEY_ID": "ann", "AWS_SECRET_ACCESS_KEY": c.secret}).Get(ctx, "h1-x")
		if _, ok := errors.AsType[*bucket.Error](err); !ok || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
