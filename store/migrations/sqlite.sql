CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);

CREATE TABLE decisions (
	seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	turn_id VARCHAR NOT NULL, 
	question TEXT NOT NULL, 
	chosen VARCHAR NOT NULL, 
	"by" VARCHAR NOT NULL, 
	at BIGINT NOT NULL
);

CREATE TABLE messages (
	seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	room_id VARCHAR NOT NULL, 
	message_id VARCHAR NOT NULL, 
	scope VARCHAR NOT NULL, 
	thread_id VARCHAR, 
	reply_to VARCHAR, 
	sender_id VARCHAR NOT NULL, 
	sender_name VARCHAR NOT NULL, 
	sender_type VARCHAR NOT NULL, 
	mention VARCHAR, 
	persona VARCHAR, 
	turn_id VARCHAR, 
	hop INTEGER NOT NULL, 
	content TEXT NOT NULL, 
	original TEXT, 
	sent_at BIGINT NOT NULL, 
	received_at BIGINT NOT NULL, 
	edited_at BIGINT, 
	deleted_at BIGINT, 
	include_in_memory BOOLEAN NOT NULL, 
	meta JSON NOT NULL, 
	attachments JSON NOT NULL, private VARCHAR, 
	UNIQUE (room_id, message_id)
);

CREATE TABLE posts (
	"key" VARCHAR NOT NULL, 
	turn_id VARCHAR NOT NULL, 
	number INTEGER NOT NULL, 
	kind VARCHAR NOT NULL, 
	text TEXT NOT NULL, 
	state VARCHAR NOT NULL, 
	platform_id VARCHAR, 
	drafted BOOLEAN NOT NULL, 
	created_at BIGINT NOT NULL, 
	PRIMARY KEY ("key")
);

CREATE TABLE agent_sessions (
	id VARCHAR NOT NULL, 
	scope VARCHAR NOT NULL, 
	persona VARCHAR NOT NULL, 
	project VARCHAR NOT NULL, 
	title VARCHAR, 
	subtitle VARCHAR, 
	overview TEXT, 
	last_number INTEGER NOT NULL, 
	started_at BIGINT NOT NULL, 
	ended_at BIGINT, 
	PRIMARY KEY (id)
);

CREATE TABLE episodes (
	seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	scope VARCHAR NOT NULL, 
	first_seq BIGINT NOT NULL, 
	last_seq BIGINT NOT NULL, 
	text TEXT NOT NULL, 
	record JSON, 
	persona VARCHAR, 
	plain BOOLEAN NOT NULL, 
	at BIGINT NOT NULL
);

CREATE TABLE facts (
	seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	id VARCHAR NOT NULL, 
	scope VARCHAR NOT NULL, 
	kind VARCHAR NOT NULL, 
	text TEXT NOT NULL, 
	person VARCHAR, 
	person_name VARCHAR, 
	persona VARCHAR, 
	origin VARCHAR, 
	source VARCHAR NOT NULL, 
	room_id VARCHAR, 
	first_seq BIGINT, 
	last_seq BIGINT, 
	data JSON NOT NULL, 
	said_at BIGINT NOT NULL, 
	created_at BIGINT NOT NULL, 
	shared_from VARCHAR, 
	replaced_by VARCHAR, 
	indexed_by VARCHAR, 
	UNIQUE (id)
);

CREATE TABLE insights (
	seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	scope VARCHAR NOT NULL, 
	sender_id VARCHAR NOT NULL, 
	kind VARCHAR NOT NULL, 
	text TEXT NOT NULL, 
	question TEXT NOT NULL, 
	used_at BIGINT NOT NULL
);

CREATE TABLE landmarks (
	seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	scope VARCHAR NOT NULL, 
	kind VARCHAR NOT NULL, 
	text TEXT NOT NULL, 
	by_id VARCHAR NOT NULL, 
	by_name VARCHAR NOT NULL, 
	message_seq BIGINT, 
	author_id VARCHAR, 
	at BIGINT NOT NULL
);

CREATE TABLE model_calls (
	seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	purpose VARCHAR NOT NULL, 
	scope VARCHAR NOT NULL, 
	model VARCHAR NOT NULL, 
	input_tokens INTEGER NOT NULL, 
	output_tokens INTEGER NOT NULL, 
	cached_tokens INTEGER NOT NULL, 
	cost_usd FLOAT, 
	ms INTEGER NOT NULL, 
	fault VARCHAR, 
	at BIGINT NOT NULL
);

CREATE TABLE observations (
	seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	id VARCHAR NOT NULL, 
	scope VARCHAR NOT NULL, 
	persona VARCHAR NOT NULL, 
	session_id VARCHAR NOT NULL, 
	turn_id VARCHAR, 
	kind VARCHAR NOT NULL, 
	title TEXT NOT NULL, 
	subtitle TEXT NOT NULL, 
	facts JSON NOT NULL, 
	narrative TEXT NOT NULL, 
	concepts JSON NOT NULL, 
	files JSON NOT NULL, 
	notes JSON NOT NULL, 
	at BIGINT NOT NULL, 
	UNIQUE (id)
);

CREATE TABLE pointers (
	layer VARCHAR NOT NULL, 
	scope VARCHAR NOT NULL, 
	seq BIGINT NOT NULL, 
	tried_at BIGINT, 
	failures INTEGER NOT NULL, 
	PRIMARY KEY (layer, scope)
);

CREATE TABLE staging (
	seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	scope VARCHAR NOT NULL, 
	persona VARCHAR, 
	session_id VARCHAR NOT NULL, 
	first_seq BIGINT NOT NULL, 
	last_seq BIGINT NOT NULL, 
	found JSON NOT NULL, 
	at BIGINT NOT NULL
);

CREATE TABLE tool_uses (
	seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	turn_id VARCHAR NOT NULL, 
	scope VARCHAR NOT NULL, 
	persona VARCHAR NOT NULL, 
	session_id VARCHAR NOT NULL, 
	tool VARCHAR NOT NULL, 
	given TEXT NOT NULL, 
	result TEXT NOT NULL, 
	failed BOOLEAN NOT NULL, 
	at BIGINT NOT NULL
);

CREATE TABLE fact_speakers (
	fact_seq INTEGER NOT NULL, 
	sender_id VARCHAR NOT NULL, 
	FOREIGN KEY(fact_seq) REFERENCES facts (seq) ON DELETE CASCADE, 
	PRIMARY KEY (fact_seq, sender_id)
);

CREATE TABLE "rooms" (
	id VARCHAR NOT NULL, 
	name VARCHAR NOT NULL, 
	kind VARCHAR NOT NULL, 
	project VARCHAR, 
	created_at BIGINT NOT NULL, 
	include_in_memory BOOLEAN DEFAULT 1 NOT NULL, heard_by JSON, 
	PRIMARY KEY (id)
);

CREATE TABLE audit (
	seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	at BIGINT NOT NULL, 
	act VARCHAR NOT NULL, 
	by_id VARCHAR NOT NULL, 
	by_name VARCHAR NOT NULL, 
	persona VARCHAR, 
	room_id VARCHAR, 
	turn_id VARCHAR, 
	detail JSON NOT NULL, 
	who_salt VARCHAR NOT NULL, 
	who_digest VARCHAR NOT NULL, 
	what_salt VARCHAR NOT NULL, 
	what_digest VARCHAR NOT NULL, 
	"before" VARCHAR NOT NULL, 
	hash VARCHAR NOT NULL, 
	UNIQUE ("before")
);

CREATE TRIGGER audit_no_update BEFORE UPDATE ON audit WHEN NOT (
    NEW.seq IS OLD.seq AND NEW.at IS OLD.at
    AND NEW.act IS OLD.act AND NEW.persona IS OLD.persona
    AND NEW.turn_id IS OLD.turn_id
    AND NEW.who_digest = OLD.who_digest AND NEW.what_digest = OLD.what_digest
    AND NEW.before = OLD.before AND NEW.hash = OLD.hash
    AND (
        (NEW.who_salt = OLD.who_salt AND NEW.by_id = OLD.by_id AND NEW.by_name = OLD.by_name)
        OR (NEW.who_salt = '' AND NEW.by_id = '' AND NEW.by_name = '')
    )
    AND (
        (NEW.what_salt = OLD.what_salt AND NEW.room_id IS OLD.room_id
            AND CAST(NEW.detail AS TEXT) = CAST(OLD.detail AS TEXT))
        OR (NEW.what_salt = '' AND NEW.room_id IS NULL AND CAST(NEW.detail AS TEXT) = '{}')
    )
) BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;

CREATE TRIGGER audit_no_delete BEFORE DELETE ON audit BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;

CREATE TRIGGER audit_no_replace BEFORE INSERT ON audit WHEN EXISTS (SELECT 1 FROM audit WHERE seq = NEW.seq) BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END;

CREATE TABLE grants (
	seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	person_id VARCHAR NOT NULL, 
	person_name VARCHAR NOT NULL, 
	role VARCHAR NOT NULL, 
	room_id VARCHAR, 
	persona VARCHAR, 
	within VARCHAR NOT NULL, 
	by_id VARCHAR NOT NULL, 
	by_name VARCHAR NOT NULL, 
	at BIGINT NOT NULL, 
	ended_at BIGINT
);

CREATE TABLE pairings (
	seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	code VARCHAR NOT NULL, 
	person_id VARCHAR NOT NULL, 
	person_name VARCHAR NOT NULL, 
	room_id VARCHAR NOT NULL, 
	persona VARCHAR, 
	bot VARCHAR NOT NULL, 
	message_seq BIGINT NOT NULL, 
	question_seq BIGINT, 
	state VARCHAR NOT NULL, 
	at BIGINT NOT NULL, 
	expires_at BIGINT NOT NULL, 
	by_id VARCHAR, 
	by_name VARCHAR, 
	decided_at BIGINT
);

CREATE TABLE persona_versions (
	seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	name VARCHAR NOT NULL, 
	number INTEGER NOT NULL, 
	text TEXT NOT NULL, 
	by_id VARCHAR, 
	by_name VARCHAR, 
	why VARCHAR NOT NULL, 
	at BIGINT NOT NULL
);

CREATE TABLE refusals (
	room_id VARCHAR NOT NULL, 
	person_id VARCHAR NOT NULL, 
	reason VARCHAR NOT NULL, 
	until BIGINT, 
	at BIGINT NOT NULL, 
	PRIMARY KEY (room_id, person_id, reason)
);

CREATE TABLE schedules (
	seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	"key" VARCHAR, 
	room_id VARCHAR NOT NULL, 
	thread_id VARCHAR, 
	bot VARCHAR NOT NULL, 
	persona VARCHAR NOT NULL, 
	words VARCHAR NOT NULL, 
	cron VARCHAR NOT NULL, 
	timezone VARCHAR NOT NULL, 
	text TEXT NOT NULL, 
	missed VARCHAR NOT NULL, 
	by_id VARCHAR NOT NULL, 
	by_name VARCHAR NOT NULL, 
	created_at BIGINT NOT NULL, 
	due_at BIGINT, 
	ran_at BIGINT, 
	paused BOOLEAN DEFAULT 0 NOT NULL, 
	why VARCHAR, 
	ended_at BIGINT, through_id VARCHAR, through_name VARCHAR, 
	UNIQUE ("key")
);

CREATE TABLE usage (
	seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	turn_id VARCHAR NOT NULL, 
	at BIGINT NOT NULL, 
	person_id VARCHAR NOT NULL, 
	room_id VARCHAR NOT NULL, 
	persona VARCHAR NOT NULL, 
	agent VARCHAR NOT NULL, 
	input_tokens INTEGER, 
	output_tokens INTEGER, 
	cached_tokens INTEGER, 
	cost_usd FLOAT, 
	seconds FLOAT NOT NULL, 
	UNIQUE (turn_id)
);

CREATE TABLE figures (
	seq INTEGER NOT NULL, 
	at BIGINT NOT NULL, 
	state VARCHAR NOT NULL, 
	command BOOLEAN NOT NULL, 
	persona VARCHAR NOT NULL, 
	room_id VARCHAR NOT NULL, 
	person_id VARCHAR NOT NULL, 
	total_ms BIGINT NOT NULL, 
	queued_ms INTEGER, 
	ready_ms INTEGER, 
	brief_ms INTEGER, 
	compose_ms INTEGER, 
	agent_ms INTEGER, 
	post_ms INTEGER, 
	FOREIGN KEY(seq) REFERENCES turns (seq) ON DELETE CASCADE, 
	PRIMARY KEY (seq)
);

CREATE TABLE "turns" (
	seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	id VARCHAR NOT NULL, 
	message_seq INTEGER NOT NULL, 
	persona VARCHAR NOT NULL, 
	scope VARCHAR NOT NULL, 
	room_id VARCHAR NOT NULL, 
	thread_id VARCHAR, 
	bot VARCHAR NOT NULL, 
	hop INTEGER NOT NULL, 
	state VARCHAR NOT NULL, 
	states JSON NOT NULL, 
	header TEXT, 
	record JSON, 
	answer TEXT, 
	answer_source VARCHAR, 
	ended_by VARCHAR, 
	fault VARCHAR, 
	kind VARCHAR DEFAULT 'ask' NOT NULL, again BIGINT DEFAULT 0 NOT NULL, session_thread VARCHAR DEFAULT '' NOT NULL, 
	FOREIGN KEY(message_seq) REFERENCES messages (seq), 
	UNIQUE (id)
);

CREATE TABLE page_users (
	id VARCHAR NOT NULL, 
	name VARCHAR NOT NULL, 
	created_at BIGINT NOT NULL, 
	ended_at BIGINT, 
	PRIMARY KEY (id)
);

CREATE TABLE page_sessions (
	id VARCHAR NOT NULL, 
	hash VARCHAR NOT NULL, 
	person_id VARCHAR NOT NULL, 
	created_at BIGINT NOT NULL, 
	seen_at BIGINT NOT NULL, 
	expires_at BIGINT NOT NULL, 
	user_agent VARCHAR NOT NULL, 
	address VARCHAR NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (hash)
);

CREATE TABLE page_links (
	id VARCHAR NOT NULL, 
	hash VARCHAR NOT NULL, 
	person_id VARCHAR, 
	person_name VARCHAR NOT NULL, 
	role VARCHAR, 
	created_at BIGINT NOT NULL, 
	expires_at BIGINT NOT NULL, by_id VARCHAR DEFAULT '' NOT NULL, by_name VARCHAR DEFAULT '' NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (hash)
);

CREATE TABLE page_tokens (
	name VARCHAR NOT NULL, 
	salt VARCHAR NOT NULL, 
	reads VARCHAR NOT NULL, 
	created_at BIGINT NOT NULL, 
	used_at BIGINT, hash VARCHAR, 
	PRIMARY KEY (name)
);

CREATE TABLE page_subjects (
	issuer VARCHAR NOT NULL, 
	subject VARCHAR NOT NULL, 
	person_id VARCHAR NOT NULL, 
	how VARCHAR NOT NULL, 
	bound_at BIGINT NOT NULL, 
	PRIMARY KEY (issuer, subject), 
	UNIQUE (person_id)
);

CREATE TABLE sessions (
	persona VARCHAR NOT NULL, 
	scope VARCHAR NOT NULL, 
	thread_id VARCHAR NOT NULL, 
	agent VARCHAR NOT NULL, 
	agent_session_id VARCHAR, 
	used_at BIGINT NOT NULL, 
	ended_at BIGINT, 
	PRIMARY KEY (persona, scope, thread_id)
);

CREATE TABLE room_settings (
	scope VARCHAR NOT NULL, 
	persona VARCHAR NOT NULL, 
	thread_id VARCHAR NOT NULL, 
	model VARCHAR, 
	sessions VARCHAR, 
	workspace VARCHAR, 
	mode VARCHAR, 
	by_id VARCHAR NOT NULL, 
	at BIGINT NOT NULL, follow VARCHAR, require_mention BOOLEAN, mode_by VARCHAR, language VARCHAR, 
	PRIMARY KEY (scope, persona, thread_id)
);

CREATE TABLE tombstones (
	who VARCHAR NOT NULL, 
	salt VARCHAR NOT NULL, 
	until BIGINT NOT NULL, 
	PRIMARY KEY (who)
);

CREATE TABLE page_reads (
	person_id VARCHAR NOT NULL, 
	room_id VARCHAR NOT NULL, 
	until BIGINT NOT NULL, 
	PRIMARY KEY (person_id, room_id)
);

CREATE TABLE house (
	id INTEGER NOT NULL, 
	epoch BIGINT NOT NULL, 
	holder VARCHAR NOT NULL, 
	seen_at BIGINT NOT NULL, 
	PRIMARY KEY (id)
);

CREATE TABLE commits (
	id VARCHAR NOT NULL, 
	at BIGINT NOT NULL, 
	PRIMARY KEY (id)
);

CREATE TABLE bot_states (
	bot VARCHAR NOT NULL, 
	name VARCHAR NOT NULL, 
	value TEXT NOT NULL, 
	PRIMARY KEY (bot, name)
);

CREATE TABLE audit_head (
	id INTEGER NOT NULL, 
	hash VARCHAR NOT NULL, 
	PRIMARY KEY (id)
);

CREATE TABLE worker_erasures (
	place VARCHAR NOT NULL, 
	scope_digest VARCHAR NOT NULL, 
	whole BOOLEAN NOT NULL, 
	at BIGINT NOT NULL, 
	PRIMARY KEY (place, scope_digest)
);

CREATE TABLE bot_keys (
	bot VARCHAR NOT NULL, 
	device VARCHAR NOT NULL, 
	kind VARCHAR NOT NULL, 
	name VARCHAR NOT NULL, 
	value TEXT NOT NULL, 
	PRIMARY KEY (bot, device, kind, name)
);

CREATE TABLE machine_erasures (
	act VARCHAR NOT NULL, 
	what VARCHAR NOT NULL, 
	digest VARCHAR NOT NULL, 
	at BIGINT NOT NULL, 
	PRIMARY KEY (act, what, digest)
);

CREATE TABLE persona_files (
	name VARCHAR NOT NULL, 
	number INTEGER NOT NULL, 
	digest VARCHAR NOT NULL, 
	PRIMARY KEY (name)
);

CREATE TABLE session_records (
	session VARCHAR NOT NULL, 
	word VARCHAR NOT NULL, 
	PRIMARY KEY (session)
);

CREATE INDEX ix_agent_sessions_scope ON agent_sessions (scope, persona);

CREATE INDEX ix_audit_by ON audit (by_id);

CREATE INDEX ix_audit_room ON audit (room_id, seq);

CREATE INDEX ix_audit_turn ON audit (turn_id);

CREATE INDEX ix_commits_at ON commits (at);

CREATE INDEX ix_episodes_scope ON episodes (scope, seq);

CREATE INDEX ix_fact_speakers_sender ON fact_speakers (sender_id);

CREATE INDEX ix_facts_created ON facts (created_at);

CREATE INDEX ix_facts_index ON facts (indexed_by);

CREATE INDEX ix_facts_person ON facts (person);

CREATE INDEX ix_facts_scope ON facts (scope, seq);

CREATE INDEX ix_figures_at ON figures (command, state, at, total_ms);

CREATE INDEX ix_figures_person ON figures (person_id, seq);

CREATE INDEX ix_figures_persona ON figures (persona, seq);

CREATE INDEX ix_figures_room ON figures (room_id, seq);

CREATE INDEX ix_figures_state ON figures (state, seq);

CREATE INDEX ix_grants_person ON grants (person_id);

CREATE INDEX ix_insights_key ON insights (scope, sender_id);

CREATE INDEX ix_landmarks_scope ON landmarks (scope, seq);

CREATE INDEX ix_messages_latest ON messages (room_id, sent_at);

CREATE INDEX ix_messages_people ON messages (sender_type, sender_id, seq);

CREATE INDEX ix_messages_private ON messages (scope, seq) WHERE private IS NOT NULL;

CREATE INDEX ix_messages_room ON messages (room_id, seq);

CREATE INDEX ix_messages_scope_seq ON messages (scope, seq);

CREATE INDEX ix_messages_sender ON messages (scope, sender_id);

CREATE INDEX ix_messages_thread ON messages (room_id, thread_id);

CREATE INDEX ix_model_calls_at ON model_calls (at);

CREATE INDEX ix_observations_scope ON observations (scope, persona, seq);

CREATE INDEX ix_page_sessions_person ON page_sessions (person_id);

CREATE INDEX ix_pairings_code ON pairings (code);

CREATE INDEX ix_pairings_person ON pairings (person_id);

CREATE UNIQUE INDEX ix_persona_versions_name ON persona_versions (name, number);

CREATE INDEX ix_posts_platform_id ON posts (platform_id);

CREATE INDEX ix_posts_turn_id ON posts (turn_id);

CREATE INDEX ix_schedules_room ON schedules (room_id);

CREATE INDEX ix_staging_scope ON staging (scope);

CREATE INDEX ix_tool_uses_scope ON tool_uses (scope, persona);

CREATE INDEX ix_turns_message ON turns (message_seq);

CREATE UNIQUE INDEX ix_turns_once ON turns (message_seq, persona, again) WHERE persona != '' OR kind != 'notice';

CREATE INDEX ix_turns_open ON turns (state);

CREATE INDEX ix_turns_scope ON turns (scope, seq);

CREATE INDEX ix_usage_at ON usage (at);

CREATE INDEX ix_usage_person ON usage (person_id, at);

CREATE INDEX ix_usage_room ON usage (room_id, at);

INSERT INTO alembic_version (version_num) VALUES ('0026');
