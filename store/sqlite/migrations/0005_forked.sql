-- Which sessions are forks, of very many that are not.
CREATE INDEX events_forked ON events (session, seq) WHERE kind = 'session_forked';
