// Package bucket keeps files in a bucket of an object store that speaks Amazon's S3: S3 itself, MinIO,
// Ceph, Cloudflare R2 and others. They are kept by their hashes, so that what is there is never changed.
package bucket

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/troupe-dev/troupe/internal/wire"
)

// A Bucket is a place for files. It may be used concurrently.
type Bucket struct {
	client *http.Client
	base   *url.URL // of the bucket
	prefix string   // of names, with a slash at its end
	place  string   // for people
	pause  time.Duration
	// silence is how long nothing may come back to a request that is short.
	silence time.Duration
}

// IsAddress reports whether a text is the address of a bucket.
func IsAddress(text string) bool { return strings.HasPrefix(text, "s3://") }

const (
	// silence is how long a store may leave a request unanswered, beside the time that sending takes.
	silence = 20 * time.Second
	// slowest is how many bytes a second are sent at the least.
	slowest = 512 << 10
	// patience is how long an answer that has begun may take.
	patience = 2 * time.Minute
	// tries is how often a request is made that the store has no time for.
	tries = 4
	// largest is what is read of a file. Larger ones are not kept.
	largest = 256 << 20
)

// Open returns the bucket at an address: s3://BUCKET/PREFIX, with ?region= and, for stores
// other than Amazon's, ?endpoint=https://HOST. Keys are found where Amazon's programs look for them: the
// variables AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, the profile, the container's own.
func Open(address string, getenv func(string) string) (*Bucket, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "s3" || u.Host == "" {
		return nil, errors.New("this is no address of a bucket: write s3://BUCKET/PREFIX?region=REGION, and &endpoint=https://HOST for stores other than Amazon's")
	}
	if u.User != nil { // which is not shown: it is a key
		return nil, fmt.Errorf("the address of bucket %s has keys in it: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in their place", u.Host)
	}
	for name := range u.Query() {
		if name != "region" && name != "endpoint" {
			return nil, fmt.Errorf("the address of bucket %s has %q, and there is only region and endpoint", u.Host, name)
		}
	}
	account, err := wire.FindAWSAccount(getenv)
	if err != nil {
		return nil, fmt.Errorf("the keys for bucket %s: %w", u.Host, err)
	}
	if account.Keys == nil {
		return nil, fmt.Errorf("there are no keys for bucket %s: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE", u.Host)
	}
	region := cmp.Or(u.Query().Get("region"), getenv("AWS_REGION"), getenv("AWS_DEFAULT_REGION"), account.Region, "us-east-1")
	endpoint := cmp.Or(u.Query().Get("endpoint"), getenv("AWS_ENDPOINT_URL_S3"), "https://s3."+region+".amazonaws.com")
	base, err := url.Parse(endpoint)
	if err != nil || base.Host == "" || base.Scheme != "https" && base.Scheme != "http" {
		return nil, fmt.Errorf("the endpoint of bucket %s is %q: write https://HOST", u.Host, endpoint)
	}
	b := &Bucket{base: base.JoinPath(u.Host), place: "bucket " + u.Host + " at " + base.Host, pause: 200 * time.Millisecond, silence: silence}
	if prefix := strings.Trim(u.Path, "/"); prefix != "" {
		b.prefix = prefix + "/"
	}
	b.client = &http.Client{Transport: account.Transport("s3", region, nil), CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return b, nil
}

// Put keeps content under a name.
func (b *Bucket) Put(ctx context.Context, name string, content []byte) error {
	_, err := b.do(ctx, http.MethodPut, name, content)
	return err
}

// Get returns what is kept under a name.
func (b *Bucket) Get(ctx context.Context, name string) ([]byte, error) {
	return b.do(ctx, http.MethodGet, name, nil)
}

// Delete removes what is kept under a name, if anything is.
func (b *Bucket) Delete(ctx context.Context, name string) error {
	_, err := b.do(ctx, http.MethodDelete, name, nil)
	if failed, ok := errors.AsType[*Error](err); ok && failed.Status == http.StatusNotFound && failed.Code != "NoSuchBucket" {
		return nil
	}
	return err
}

// Check writes, reads and removes a file, to find out whether that works.
func (b *Bucket) Check(ctx context.Context) error {
	const name, content = "troupe-check", "written to see whether it works\n"
	if err := b.Put(ctx, name, []byte(content)); err != nil {
		return err
	}
	got, err := b.Get(ctx, name)
	if err == nil && string(got) != content {
		err = fmt.Errorf("%s: what was written is not what is read", b.place)
	}
	return errors.Join(err, b.Delete(ctx, name))
}

// String says where the bucket is.
func (b *Bucket) String() string { return b.place }

// An Error is what an object store answers where it does not do what it is asked for.
type Error struct {
	Place   string
	Status  int
	Code    string
	Message string
}

func (e *Error) Error() string {
	text := fmt.Sprintf("%s: %d %s", e.Place, e.Status, cmp.Or(e.Code, http.StatusText(e.Status)))
	if e.Message != "" {
		text += ": " + e.Message
	}
	switch {
	case e.Code == "NoSuchBucket":
		text += " (make the bucket, or correct files in troupe.yaml)"
	case e.Code == "SignatureDoesNotMatch" || e.Code == "InvalidAccessKeyId" || e.Code == "AccessDenied" || e.Status == http.StatusForbidden:
		text += " (look at AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and what they may do: s3:PutObject, s3:GetObject, s3:DeleteObject)"
	case e.Status == http.StatusMovedPermanently || e.Code == "AuthorizationHeaderMalformed":
		text += " (the bucket is in another region: set ?region= in files)"
	}
	return text
}

// isPassing reports whether the same request may succeed a little later.
func (e *Error) isPassing() bool {
	return e.Status == http.StatusTooManyRequests || e.Status >= 500 && e.Status != http.StatusNotImplemented
}

// errSilent reports a store that takes a request and does not answer.
var errSilent = errors.New("no answer came")

// do makes a request until it has succeeded or cannot. Each may be repeated. A store that is
// silent is not asked again: it was waited for.
func (b *Bucket) do(ctx context.Context, method, name string, content []byte) (answer []byte, err error) {
	pause := b.pause
	for try := 1; ; try++ {
		answer, err = b.once(ctx, method, name, content)
		failed, ok := errors.AsType[*Error](err)
		if err == nil || ok && !failed.isPassing() || try == tries || ctx.Err() != nil || errors.Is(err, errSilent) {
			return answer, err
		}
		select {
		case <-time.After(pause):
			pause *= 3
		case <-ctx.Done():
			return nil, errors.Join(err, context.Cause(ctx))
		}
	}
}

func (b *Bucket) once(ctx context.Context, method, name string, content []byte) ([]byte, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	limit := b.silence + time.Duration(len(content)/slowest)*time.Second
	timer := time.AfterFunc(limit, func() { cancel(fmt.Errorf("%w for %v", errSilent, limit)) })
	defer timer.Stop()
	request, err := http.NewRequestWithContext(ctx, method, b.base.JoinPath(b.prefix+name).String(), bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(content)
	request.Header.Set("X-Amz-Content-Sha256", hex.EncodeToString(sum[:]))
	if method == http.MethodPut {
		request.Header.Set("Content-Type", "application/octet-stream")
	}
	response, err := b.client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("%s is out of reach: %w", b.place, why(ctx, err))
	}
	defer response.Body.Close()
	timer.Reset(max(patience, limit))
	data, err := io.ReadAll(io.LimitReader(response.Body, largest))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.place, why(ctx, err))
	}
	if response.StatusCode < 300 {
		return data, nil
	}
	said := struct{ Code, Message string }{}
	_ = xml.Unmarshal(data, &said) // what is no XML says nothing
	return nil, &Error{b.place, response.StatusCode, said.Code, said.Message}
}

// why returns the cause of a request's end, without its address, which is long.
func why(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, errSilent) {
		return cause
	}
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return failed.Err
	}
	return err
}
