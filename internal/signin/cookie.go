package signin

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"time"
)

// newSeal makes what cookies are sealed with. The key comes from the client's secret, so
// that cookies outlive a restart, hold for all servers of one client, and end with the
// secret.
func newSeal(secret string) (cipher.AEAD, error) {
	key, err := hkdf.Key(sha256.New, []byte(secret), nil, "troupe sign-in cookies 1", 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// close seals a value for a purpose: it cannot be read, changed or used for another.
func (d *Desk) close(purpose string, value any) (string, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return "", err
	}
	nonce := make([]byte, d.seal.NonceSize())
	rand.Read(nonce)
	return base64.RawURLEncoding.EncodeToString(d.seal.Seal(nonce, nonce, data, []byte(purpose))), nil
}

func (d *Desk) open(text, purpose string, into any) error {
	sealed, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(sealed) < d.seal.NonceSize() {
		return errors.New("the cookie is not ours")
	}
	data, err := d.seal.Open(nil, sealed[:d.seal.NonceSize()], sealed[d.seal.NonceSize():], []byte(purpose))
	if err != nil {
		return errors.New("the cookie is not ours")
	}
	return json.Unmarshal(data, into)
}

// cookieName is one that browsers take only over encrypted connections, where there are
// such. Browsers do not tell ports apart, so that the port is in the other.
func (d *Desk) cookieName() string {
	if d.isSecure() {
		return "__Host-troupe-person"
	}
	return "troupe-person" + d.base.Port()
}

func (d *Desk) isSecure() bool { return d.base.Scheme == "https" }

func (d *Desk) setCookie(w http.ResponseWriter, name, value string, lasts time.Duration) {
	// Lax: the provider sends people here from another site.
	cookie := &http.Cookie{Name: name, Value: value, Path: "/", HttpOnly: true, Secure: d.isSecure(), SameSite: http.SameSiteLaxMode, MaxAge: int(lasts.Seconds())}
	if value == "" {
		cookie.MaxAge = -1
	}
	http.SetCookie(w, cookie)
}
