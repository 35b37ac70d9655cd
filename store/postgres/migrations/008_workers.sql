-- Which queues a process takes runs from, so that it can be said whether any does.
ALTER TABLE owners ADD COLUMN queues text[] NOT NULL DEFAULT '{}';
