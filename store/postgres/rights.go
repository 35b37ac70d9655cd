package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// checkRights fails where the user may not do what the store is opened for, and says what to
// grant. PostgreSQL says of a schema that a user may not look into that nothing is in it.
func (s *Store) checkRights(ctx context.Context, db querier) error {
	var database, schemaOwner, tableOwner string
	var hasSchema, hasTables, mayMakeSchema, mayUse, mayMakeTables, mayRead, isOwner, isMine bool
	err := db.QueryRow(ctx, `SELECT current_database(), has_database_privilege(current_database(), 'CREATE'), n.oid IS NOT NULL, coalesce(pg_get_userbyid(n.nspowner), ''),
	coalesce(has_schema_privilege(n.oid, 'USAGE'), false), coalesce(has_schema_privilege(n.oid, 'CREATE'), false),
	t.owner IS NOT NULL, coalesce(t.owner, ''), coalesce(t.reads, false), coalesce(t.mine, false), coalesce(pg_has_role(t.owner, current_user, 'MEMBER') AND NOT (SELECT rolsuper FROM pg_roles WHERE rolname = t.owner), false)
FROM (SELECT 1) one LEFT JOIN pg_namespace n ON n.nspname = $1
LEFT JOIN LATERAL (SELECT min(pg_get_userbyid(c.relowner)) FILTER (WHERE c.relname = 'troupe_version') AS owner, bool_and(has_table_privilege(c.oid, 'SELECT')) AS reads,
	bool_and(pg_has_role(c.relowner, 'MEMBER')) AS mine
	FROM pg_class c WHERE c.relnamespace = n.oid AND c.relname IN ('troupe_version', 'sessions', 'events', 'owners', 'jobs', 'files', 'blobs')) t ON true`, s.schema).
		Scan(&database, &mayMakeSchema, &hasSchema, &schemaOwner, &mayUse, &mayMakeTables, &hasTables, &tableOwner, &mayRead, &isOwner, &isMine)
	user, schema := pgx.Identifier{s.user}.Sanitize(), pgx.Identifier{s.schema}.Sanitize()
	switch {
	case err != nil:
		return err
	case hasTables && (!mayUse || !mayRead || !s.readOnly && !isOwner):
		// Rights on the tables that there are would do for a while: each month needs new ones.
		owner := pgx.Identifier{tableOwner}.Sanitize()
		if isMine {
			return fmt.Errorf("%s: user %s may not use the tables there, which are %s's, its member: as %s, REASSIGN OWNED BY %s TO %s, or connect as %s", s.place, user, owner, owner, owner, user, owner)
		}
		return fmt.Errorf("%s: user %s may not use the tables there, which are %s's: GRANT %s TO %s, or connect as %s", s.place, user, owner, owner, user, owner)
	case hasTables || s.readOnly:
		return nil
	case !hasSchema && !mayMakeSchema:
		return fmt.Errorf("%s: user %s may not create schema %s: GRANT CREATE ON DATABASE %s TO %s, or have somebody who may CREATE SCHEMA %s AUTHORIZATION %s",
			s.place, user, schema, pgx.Identifier{database}.Sanitize(), user, schema, user)
	case hasSchema && !(mayUse && mayMakeTables):
		return fmt.Errorf("%s: user %s may not create tables in schema %s, which is %s's: GRANT USAGE, CREATE ON SCHEMA %s TO %s", s.place, user, schema, pgx.Identifier{schemaOwner}.Sanitize(), schema, user)
	}
	return nil
}

// becomeOwner has a transaction make tables as the role that those there belong to, or else the
// schema: whoever is a member of it makes them for all members.
func (s *Store) becomeOwner(ctx context.Context, tx pgx.Tx) error {
	var owner string
	err := tx.QueryRow(ctx, `SELECT role FROM (SELECT coalesce(pg_get_userbyid(c.relowner), pg_get_userbyid(n.nspowner)) AS role
	FROM pg_namespace n LEFT JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = 'troupe_version' WHERE n.nspname = $1) there
WHERE role <> current_user AND role NOT LIKE 'pg\_%' AND pg_has_role(role, CASE WHEN current_setting('server_version_num')::int < 160000 THEN 'MEMBER' ELSE 'SET' END)`, s.schema).Scan(&owner)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err == nil {
		_, err = tx.Exec(ctx, "SET LOCAL ROLE "+pgx.Identifier{owner}.Sanitize())
	}
	return err
}
