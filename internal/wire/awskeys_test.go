package wire

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// awsHome is a home directory with the two files that Amazon's programs share.
func awsHome(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	for name, text := range map[string]string{
		"config": "[default]\nregion = eu-west-3\n\n[profile work]\n# a comment\nregion=eu-central-1 # near\ns3 =\n  max_queue_size = 10\n" +
			"[profile lent]\nrole_arn = arn:aws:iam::1:role/x\nsource_profile = default\n[profile signed-in]\nsso_session = corp\nregion = eu-west-1\n",
		"credentials": "[default]\naws_access_key_id = AKDEFAULT\naws_secret_access_key = s/ecret+=\n[work]\naws_access_key_id=AKWORK\naws_secret_access_key=other\naws_session_token=tok\n",
	} {
		if err := os.MkdirAll(filepath.Join(home, ".aws"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(home, ".aws", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return home
}

func TestAccountsAreFoundWhereAmazonsProgramsFindThem(t *testing.T) {
	home := awsHome(t)
	for _, test := range []struct {
		env             map[string]string
		region, id, key string
		wrong           string
	}{
		{env: map[string]string{"HOME": home}, region: "eu-west-3", id: "AKDEFAULT", key: "s/ecret+="},
		{env: map[string]string{"HOME": home, "AWS_PROFILE": "work"}, region: "eu-central-1", id: "AKWORK", key: "other"},
		{env: map[string]string{"HOME": home, "AWS_DEFAULT_PROFILE": "work"}, region: "eu-central-1", id: "AKWORK", key: "other"},
		{env: map[string]string{"HOME": home, "AWS_ACCESS_KEY_ID": "AKENV", "AWS_SECRET_ACCESS_KEY": "mine"}, id: "AKENV", key: "mine"},
		{env: map[string]string{"AWS_SHARED_CREDENTIALS_FILE": filepath.Join(home, ".aws", "credentials"), "AWS_PROFILE": "work"}, id: "AKWORK", key: "other"},
		{env: map[string]string{"HOME": t.TempDir()}},
		{env: map[string]string{}},
		{env: map[string]string{"HOME": home, "AWS_PROFILE": "wrok"}, wrong: `no profile "wrok"`},
		{env: map[string]string{"HOME": home, "AWS_PROFILE": "lent"}, wrong: "role_arn"},
		{env: map[string]string{"HOME": home, "AWS_PROFILE": "signed-in"}, wrong: "aws configure export-credentials --profile signed-in"},
		{env: map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://keys.example/x"}, wrong: "neither https nor"},
	} {
		account, err := FindAWSAccount(func(name string) string { return test.env[name] })
		if test.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), test.wrong) {
				t.Errorf("%v: %v", test.env, err)
			}
			continue
		}
		var keys AWSKeys
		if account.Keys != nil && err == nil {
			keys, err = account.Keys(t.Context())
		}
		if err != nil || account.Region != test.region || keys.ID != test.id || string(keys.Secret) != test.key {
			t.Errorf("%v: %+v in %q, %v", test.env, keys, account.Region, err)
		}
	}
}

// Keys of a container's role are fetched once, and again before they end.
func TestKeysOfAContainersRoleAreFetchedAnew(t *testing.T) {
	fetched := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "let-me" {
			http.Error(w, "who?", http.StatusForbidden)
			return
		}
		fetched++
		until := time.Now().Add(time.Hour)
		if fetched == 1 {
			until = time.Now().Add(time.Minute) // ends too soon to be kept
		}
		fmt.Fprintf(w, `{"AccessKeyId":"AK%d","SecretAccessKey":"s","Token":"t","Expiration":%q}`, fetched, until.UTC().Format(time.RFC3339))
	}))
	defer server.Close()
	env := map[string]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI": server.URL + "/keys", "AWS_CONTAINER_AUTHORIZATION_TOKEN": "let-me"}
	account, err := FindAWSAccount(func(name string) string { return env[name] })
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"AK1", "AK2", "AK2"} {
		if keys, err := account.Keys(t.Context()); err != nil || keys.ID != want || keys.Session != "t" {
			t.Errorf("%+v, %v, want %s", keys, err, want)
		}
	}
	env["AWS_CONTAINER_AUTHORIZATION_TOKEN"] = "canary"
	account, _ = FindAWSAccount(func(name string) string { return env[name] })
	if _, err := account.Keys(t.Context()); err == nil || !strings.Contains(err.Error(), "status 403") || strings.Contains(err.Error(), "canary") {
		t.Error(err)
	}
}
