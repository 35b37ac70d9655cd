-- What is in a file may be kept elsewhere, under a name of its own.
ALTER TABLE blobs ALTER COLUMN content DROP NOT NULL;
ALTER TABLE blobs ADD COLUMN name text COLLATE "C";
