-- Whose session it is, empty where nobody has said.
ALTER TABLE sessions ADD COLUMN user TEXT NOT NULL DEFAULT '';

CREATE INDEX sessions_of_user ON sessions (user, updated DESC, id);
