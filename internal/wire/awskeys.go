package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// An AWSAccount is what signs requests to Amazon, as its own programs would find it.
type AWSAccount struct {
	// Region is that of the profile, empty where it has none.
	Region string
	// Keys returns the keys to sign a request with now; nil where there are none.
	Keys func(context.Context) (AWSKeys, error)
}

// FindAWSAccount looks for keys where Amazon's programs do, in their order: in the
// environment, in the profile that AWS_PROFILE names or the default one, at the
// container's own endpoint. It is an error if a profile is named that is not there, or
// one whose keys have to be fetched in a way that is not known here.
func FindAWSAccount(getenv func(string) string) (AWSAccount, error) {
	if keys := (AWSKeys{ID: getenv("AWS_ACCESS_KEY_ID"), Secret: Secret(getenv("AWS_SECRET_ACCESS_KEY")), Session: Secret(getenv("AWS_SESSION_TOKEN"))}); keys.ID != "" && keys.Secret != "" {
		return AWSAccount{Keys: always(keys)}, nil
	}
	account, err := awsProfile(getenv)
	if err != nil || account.Keys != nil {
		return account, err
	}
	account.Keys, err = awsContainer(getenv)
	return account, err
}

func always(keys AWSKeys) func(context.Context) (AWSKeys, error) {
	return func(context.Context) (AWSKeys, error) { return keys, nil }
}

// awsProfile reads a profile from the two files that share it.
func awsProfile(getenv func(string) string) (AWSAccount, error) {
	name, isNamed := getenv("AWS_PROFILE"), true
	if name == "" {
		name, isNamed = getenv("AWS_DEFAULT_PROFILE"), getenv("AWS_DEFAULT_PROFILE") != ""
	}
	if name == "" {
		name = "default"
	}
	profile := map[string]string{}
	for _, file := range []struct{ variable, name, section string }{
		{"AWS_CONFIG_FILE", "config", "profile " + name}, {"AWS_SHARED_CREDENTIALS_FILE", "credentials", name},
	} {
		path := getenv(file.variable)
		if home := getenv("HOME"); path == "" && home != "" {
			path = filepath.Join(home, ".aws", file.name)
		}
		if err := readSection(profile, path, file.section, name); err != nil {
			return AWSAccount{}, err
		}
	}
	account := AWSAccount{Region: profile["region"]}
	keys := AWSKeys{ID: profile["aws_access_key_id"], Secret: Secret(profile["aws_secret_access_key"]), Session: Secret(profile["aws_session_token"])}
	switch {
	case keys.ID != "" && keys.Secret != "" && profile["role_arn"] == "":
		account.Keys = always(keys)
	case len(profile) == 0 && isNamed:
		return account, fmt.Errorf("there is no profile %q of Amazon's in ~/.aws/config or ~/.aws/credentials; correct AWS_PROFILE", name)
	}
	for _, fetched := range []string{"role_arn", "sso_session", "sso_start_url", "credential_process", "login_session"} {
		if profile[fetched] != "" && account.Keys == nil {
			return account, fmt.Errorf(`the profile %q of Amazon's has %s: its keys have to be fetched, which Troupe does not do. Put them into the environment: eval "$(aws configure export-credentials --profile %s --format env)"`, name, fetched, name)
		}
	}
	return account, nil
}

// readSection adds the settings of a section to a profile. The default profile's section
// may go by its bare name in both files.
func readSection(profile map[string]string, path, section, name string) error {
	if path == "" {
		return nil
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read a profile of Amazon's: %w", err)
	}
	isIn := false
	for line := range strings.Lines(string(data)) {
		isNested := strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t")
		line = strings.TrimSpace(line)
		if title, ok := strings.CutPrefix(line, "["); ok {
			title, _, _ = strings.Cut(title, "]")
			title = strings.Join(strings.Fields(title), " ")
			isIn = title == section || name == "default" && title == name
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !isIn || !ok || isNested || strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";") {
			continue
		}
		value, _, _ = strings.Cut(value, " #")
		profile[strings.ToLower(strings.TrimSpace(key))] = strings.TrimSpace(value)
	}
	return nil
}

// awsContainer is the endpoint at which a container finds the keys of its role; nil
// where there is none.
func awsContainer(getenv func(string) string) (func(context.Context) (AWSKeys, error), error) {
	at := getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI")
	if relative := getenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"); relative != "" {
		at = "http://169.254.170.2" + relative
	}
	if at == "" {
		return nil, nil
	}
	where, err := url.Parse(at)
	if err != nil || !mayHaveKeys(where) {
		return nil, errors.New("AWS_CONTAINER_CREDENTIALS_FULL_URI is neither https nor an address of the container's own")
	}
	role := &awsRole{url: at, token: func() (string, error) {
		if file := getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"); file != "" {
			data, err := os.ReadFile(file)
			return strings.TrimSpace(string(data)), err
		}
		return getenv("AWS_CONTAINER_AUTHORIZATION_TOKEN"), nil
	}}
	return role.keys, nil
}

// mayHaveKeys is true for the places that Amazon's own programs take keys from.
func mayHaveKeys(at *url.URL) bool {
	ip := net.ParseIP(at.Hostname())
	isNear := at.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
	return at.Scheme == "https" && at.Hostname() != "" || at.Scheme == "http" && (isNear || at.Hostname() == "169.254.170.2" || at.Hostname() == "169.254.170.23" || at.Hostname() == "fd00:ec2::23")
}

// An awsRole has keys that last for a while and are fetched anew then.
type awsRole struct {
	url   string
	token func() (string, error)

	mu      sync.Mutex
	current AWSKeys
	until   time.Time
}

// keys are those of the role, fetched again a few minutes before they end.
func (r *awsRole) keys(ctx context.Context) (AWSKeys, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Now().Before(r.until) {
		return r.current, nil
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	found, err := r.fetch(ctx)
	if err != nil {
		return AWSKeys{}, fmt.Errorf("fetch the keys of the container's role: %w", err)
	}
	const early = 5 * time.Minute
	r.current = AWSKeys{ID: found.AccessKeyID, Secret: found.SecretAccessKey, Session: found.Token}
	r.until = found.Expiration.Add(-early)
	return r.current, nil
}

type awsCredentials struct {
	AccessKeyID     string `json:"AccessKeyId"`
	SecretAccessKey Secret
	Token           Secret
	Expiration      time.Time
}

func (r *awsRole) fetch(ctx context.Context) (c awsCredentials, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url, nil)
	if err != nil {
		return c, err
	}
	token, err := r.token()
	if err != nil {
		return c, err
	}
	if token != "" {
		req.Header.Set("Authorization", token)
	}
	resp, err := clientWithoutDetours(nil).Do(req)
	if err != nil {
		return c, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return c, err
	}
	if resp.StatusCode != http.StatusOK {
		return c, fmt.Errorf("status %d", resp.StatusCode)
	}
	if err := json.Unmarshal(data, &c); err != nil || c.AccessKeyID == "" || c.SecretAccessKey == "" {
		return c, errors.New("the answer has no keys")
	}
	return c, nil
}
