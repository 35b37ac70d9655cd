package knowledge

import (
	"context"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// The roles of users. Those of [NewServer] who are no administrators see nothing of
// other users.
const (
	RoleUser  = "user"
	RoleAdmin = "admin"
)

// A User can use a base through [NewServer].
type User struct {
	Name  string
	Email string // or none
	Role  string // default: RoleUser
}

// iterations makes a guess at a password cost some tenths of a second.
const iterations = 600_000

// insertUser adds a user whose name is not taken.
const insertUser = "INSERT INTO users (name, email, role, salt, iterations, hash) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"

// CreateUser lets a user in by a password, of which only a hash is kept. The name
// [Local] is taken.
func (b *Base) CreateUser(ctx context.Context, u User, password Secret) error {
	if u.Role == "" {
		u.Role = RoleUser
	}
	switch {
	case !isName(u.Name) || !isName("x"+u.Email):
		return fmt.Errorf("create user %.40q: %w: a name has 1 to %d bytes of printable UTF-8", u.Name, ErrInvalid, maxName)
	case u.Role != RoleUser && u.Role != RoleAdmin:
		return fmt.Errorf("create user %s: %w: a role is %s or %s", u.Name, ErrInvalid, RoleUser, RoleAdmin)
	case password == "" || len(password) > maxAbout:
		return fmt.Errorf("create user %s: %w: there must be a password, of at most %d bytes", u.Name, ErrInvalid, maxAbout)
	}
	salt := make([]byte, 16)
	rand.Read(salt)
	key, err := derive(password, salt, b.rounds)
	if err != nil {
		return fmt.Errorf("create user %s: %w", u.Name, err)
	}
	created := int64(0)
	if u.Name != Local {
		result, err := b.db.ExecContext(ctx, b.statement(insertUser),
			u.Name, u.Email, u.Role, salt, b.rounds, key)
		if err == nil {
			created, err = result.RowsAffected()
		}
		if err != nil {
			return fmt.Errorf("create user %s: %w", u.Name, err)
		}
	}
	if created == 0 {
		return fmt.Errorf("create user %s: %w: the name is taken", u.Name, ErrInvalid)
	}
	return nil
}

// Users lists the users that were created, by name.
func (b *Base) Users(ctx context.Context) ([]User, error) {
	rows, err := b.db.QueryContext(ctx, b.statement("SELECT name, email, role FROM users"))
	list, err := collect(rows, err, func(rows *sql.Rows) (u User, err error) {
		return u, rows.Scan(&u.Name, &u.Email, &u.Role)
	})
	if err != nil {
		return nil, fmt.Errorf("list users: %w", err)
	}
	slices.SortFunc(list, func(a, b User) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// owners lists whose documents there are and how many.
func (b *Base) owners(ctx context.Context) (names []string, counts map[string]int, err error) {
	counts = map[string]int{}
	rows, err := b.db.QueryContext(ctx, b.statement(`SELECT "user", count(*) FROM documents WHERE latest GROUP BY "user"`))
	names, err = collect(rows, err, func(rows *sql.Rows) (name string, err error) {
		var n int
		err = rows.Scan(&name, &n)
		counts[name] = n
		return name, err
	})
	slices.Sort(names)
	return names, counts, err
}

// errCredentials does not say whether there is such a user.
var errCredentials = errors.New("authentication failed")

// admit returns the user with the name and the password. A name that nobody has
// takes as long to refuse as a wrong password.
func (b *Base) admit(ctx context.Context, name string, password Secret) (User, error) {
	u := User{Name: name}
	salt, rounds, kept := make([]byte, 16), b.rounds, []byte(nil)
	err := b.db.QueryRowContext(ctx, b.statement("SELECT email, role, salt, iterations, hash FROM users WHERE name = ?"), name).
		Scan(&u.Email, &u.Role, &salt, &rounds, &kept)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return User{}, err
	}
	key, err := derive(password, salt, rounds)
	if err != nil {
		return User{}, err
	}
	if subtle.ConstantTimeCompare(key, kept) != 1 {
		return User{}, errCredentials
	}
	return u, nil
}

func derive(password Secret, salt []byte, rounds int) ([]byte, error) {
	return pbkdf2.Key(sha256.New, string(password), salt, rounds, sha256.Size)
}
