package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// checkRights fails where the user may not do what the store is opened for, and says what to
// grant. PostgreSQL says of a schema that a user may not look into that nothing is in it.
func (s *Store) checkRights(ctx context.Context, db querier) error {
	var database, schemaOwner, tableOwner string
	var hasSchema, hasTables, mayMakeSchema, mayUse, mayMakeTables, mayRead, mayWrite bool
	err := db.QueryRow(ctx, `SELECT current_database(), has_database_privilege(current_database(), 'CREATE'), n.oid IS NOT NULL, coalesce(pg_get_userbyid(n.nspowner), ''),
	coalesce(has_schema_privilege(n.oid, 'USAGE'), false), coalesce(has_schema_privilege(n.oid, 'CREATE'), false),
	t.owner IS NOT NULL, coalesce(t.owner, ''), coalesce(t.reads, false), coalesce(t.writes, false)
FROM (SELECT 1) one LEFT JOIN pg_namespace n ON n.nspname = $1
LEFT JOIN LATERAL (SELECT min(pg_get_userbyid(c.relowner)) FILTER (WHERE c.relname = 'troupe_version') AS owner, bool_and(has_table_privilege(c.oid, 'SELECT')) AS reads,
	bool_and(has_table_privilege(c.oid, 'INSERT') AND has_table_privilege(c.oid, 'UPDATE') AND has_table_privilege(c.oid, 'DELETE')) AS writes
	FROM pg_class c WHERE c.relnamespace = n.oid AND c.relname IN ('troupe_version', 'sessions', 'events', 'owners', 'jobs', 'files', 'blobs')) t ON true`, s.schema).
		Scan(&database, &mayMakeSchema, &hasSchema, &schemaOwner, &mayUse, &mayMakeTables, &hasTables, &tableOwner, &mayRead, &mayWrite)
	user, schema := pgx.Identifier{s.user}.Sanitize(), pgx.Identifier{s.schema}.Sanitize()
	switch {
	case err != nil:
		return err
	case hasTables && (!mayUse || !mayRead || !s.readOnly && !mayWrite):
		owner := pgx.Identifier{tableOwner}.Sanitize()
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
