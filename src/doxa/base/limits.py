"""The limits that users can reach, each with its unit last in the name."""

from __future__ import annotations

# Settings
CONFIG_FILE_BYTES_MAX = 65_536

# Values and text
TEXT_BYTES_MAX = 1_048_576
PROPERTIES_BYTES_MAX = 4_194_304
PROPERTY_NAME_CHARS_MAX = 256
LIST_ITEMS_MAX = 10_000

# Addresses
KREF_CHARS_MAX = 2_048
KREF_SEGMENTS_MAX = 32
NAME_CHARS_MAX = 200
TAG_CHARS_MAX = 100

# Beliefs
FACTS_PER_REVISION_MAX = 500
SENTENCES_PER_REVISION_MAX = 100
ENRICHMENT_ENTRIES_MAX = 50
ENRICHMENT_CHARS_MAX = 1_000
SENTENCE_ATOMS_MAX = 200
SENTENCE_DEPTH_MAX = 20
SOLVER_STEPS_MAX = 2_000_000
CONNECTED_ITEMS_MAX = 2_000
CONSTRAINTS_ITEMS_MAX = 10_000
EXPLAINED_ITEMS_MAX = 50
CONFLICTS_ITEMS_MAX = 1_000
AUDIT_FINDINGS_ITEMS_MAX = 10_000  # of each kind
AUDIT_TEXT_CHARS_MAX = 160
ADDRESSES_TRIED_ITEMS_MAX = 1_000
SAID_ALIKE_ITEMS_MAX = 50_000
TRAVERSE_DEPTH_DEFAULT = 10
TRAVERSE_DEPTH_MAX = 20
TRAVERSE_NODES_MAX = 100_000
BUNDLE_MEMBERS_MAX = 100_000

ENTITY_ALIASES_ITEMS_MAX = 50
ENTITIES_LISTED_ITEMS_MAX = 1_000

# Store
BUSY_TIMEOUT_MS = 60_000
WRITER_IDLE_MS = 20_000
SHARED_WRITER_IDLE_MS = 250  # of a transaction whose commit others wait for
BRIEF_WRITE_MS = 20  # what holds the turn no longer may share a commit
SCRUB_WAIT_MS = 2_000
TRANSACTION_ENTRIES_MAX = 1_000_000
NOTE_CHARS_MAX = 2_000
LABEL_CHARS_MAX = 200
ACTOR_CHARS_MAX = 200
REPLICA_FETCH_BYTES_MAX = 4_194_304
REPLICA_REPORT_S = 10
REPLICA_LEASE_S = 86_400
TOKEN_WAIT_S = 10
TOKEN_WAIT_S_MAX = 60
REPLICAS_OPEN_ITEMS_MAX = 200
REPLICAS_BYTES_MAX = 50_000_000_000
SNAPSHOT_BYTES_MAX = 536_870_912
SNAPSHOT_PART_BYTES_MAX = 4_194_304
SNAPSHOT_CHANGES_ITEMS_MIN = 2_000
ACCESS_FLUSH_MS = 2_000
ACCESS_NOTED_ITEMS_MAX = 10_000
ACCESS_QUERY_ITEMS_MAX = 10_000
ACCESS_WAITING_ITEMS_MAX = 200_000
ACCESS_SUPPORT_ITEMS_MAX = 1_024
SWEEP_AT_ONCE_ITEMS_MAX = 10_000
SWEEP_BATCH_ITEMS_MAX = 5_000

# Recall
QUERY_CHARS_MAX = 1_048_576
QUERY_CHARS_READ = 4_000
QUERY_TERMS_MAX = 64
RECALL_HITS_MAX = 1_000
NEAR_ITEMS_MAX = 20  # beliefs that `remember` names as near
RECALL_TOKENS_MAX = 1_000_000
FUZZY_TERM_CHARS_MIN = 3
RESTATED_CHARS_READ = 8_000
REFORMULATION_CHARS_MAX = 500
INDEX_TOKENS_MAX = 20_000
TERM_CHARS_MAX = 64

# Models
MODEL_TEXT_CHARS_MAX = 8_192
MODEL_THREADS_MAX = 2
MODEL_FILE_BYTES_MAX = 32 * 1024**2
TOKENIZER_FILE_BYTES_MAX = 1024**2
VECTOR_ITEMS_MAX = 16_384
ONNX_TOKENIZER_BYTES_MAX = 64 * 1024**2
ONNX_SETTINGS_BYTES_MAX = 65_536
ONNX_TOKENS_DEFAULT = 512
ONNX_TOKENS_MAX = 8_192
MODEL_SPEC_CHARS_MAX = 4_096
MODEL_URL_CHARS_MAX = 2_048
MODEL_REQUEST_BYTES_MAX = 4 * 1024**2
MODEL_ANSWER_BYTES_MAX = 32 * 1024**2
MODEL_REFUSAL_BYTES_READ = 65_536
MODEL_SAID_CHARS_MAX = 300
MODEL_ATTEMPTS_MAX = 4
MODEL_BACKOFF_MS = 500
MODEL_RETRY_AFTER_MS_MAX = 20_000
MODEL_CONNECT_MS = 10_000
MODEL_OUTAGE_MS = 10_000
EMBED_MS = 30_000
COMPLETE_MS = 600_000
COMPLETE_TOKENS_DEFAULT = 1_024
COMPLETE_TOKENS_MAX = 131_072
RECORD_CHARS_MAX = 200_000  # text and data of one record of the agent's runtime
RECORD_ABOUT_ITEMS_MAX = 1_000  # what one record concerns
IDENTITY_CHARS_MAX = 4_000  # of all identity files of an agent together
IDENTITY_LINE_CHARS_MAX = 400
IDENTITY_LINES_ITEMS_MAX = 10_000  # candidates and approvals of an agent that are read at once
IDENTITY_FILE_BYTES_MAX = 1_048_576  # of an identity file that is read
GROWTH_CANDIDATES_ITEMS_MAX = 100  # of an agent, that wait for a decision
CRYSTALLISE_AGE_S = 2_592_000  # of what a person did not state, before it becomes identity
CRYSTALLISE_APPROVAL_S = 86_400  # for which an approval can be used
SIGNALS_TEXT_CHARS_READ = 8_000  # of each side of a turn
SIGNALS_KEPT_TURNS = 20  # that the signals of the next turn look at
SIGNALS_SAVED_TURNS = 50  # between two copies of the learner of the dynamics
SIGNALS_SUSTAINED_S = 2_700  # for which it has to stay above, to be sustained
SIGNALS_PAUSE_S = 1_800  # between two turns, after which nothing is sustained any more
SIGNALS_LOG_BYTES_MAX = 33_554_432  # then the log becomes the former one
METABOLISM_PAUSE_S = 1_800  # between two moments of an agent
METABOLISM_QUOTE_CHARS_MAX = 400  # of each side of a turn, in a moment
MOMENTS_OPEN_ITEMS_MAX = 50  # of an agent; older ones are dropped
CONTEMPLATE_SECOND_PASS_S = 14_400  # from the start of an inquiry
CONTEMPLATE_THIRD_PASS_S = 72_000
BACKUP_AGE_DAYS_MAX = 7  # of the newest backup, from which the night shift says so
CONTEMPLATE_ITEMS_MAX = 20  # moments and inquiries of an agent, in one call
OPERATOR_KEY_BYTES_MIN = 32  # of randomness in an operator's key
PROTECTED_FILE_BYTES_MAX = 1_048_576  # a file that the operator's gate changes
RESTART_REACH_CALLS_MAX = 2  # calls to reach the runtime after a restart
RESTART_IDENTIFY_CALLS_MAX = 1  # to compare the session
RESTART_CALLS_MAX = 100  # that a continuation may declare
CLAIM_CHARS_MAX = 2_000
CLAIM_SOURCES_ITEMS_MAX = 10
CLAIM_SOURCE_BYTES_MAX = 1_048_576  # a file or object that a source handle names
CLAIM_PASSAGE_CHARS_MAX = 20_000  # of a source that are compared with a claim
CLAIM_GIT_MS = 10_000
CLAIM_GIT_FILES_MAX = 200_000  # files of a repository's objects that are looked at for links
CLAIMS_LIVE_ITEMS_MAX = 8  # that a prompt is given; of one kind or type of source, half
CLAIMS_LIVE_HANDOFF_ITEMS_MAX = 3
CLAIMS_REPORT_ITEMS_MAX = 1_000
CLAIMS_PRODUCED_ITEMS_MAX = 200
GOVERNOR_INSTRUCTION_S = 86_400  # how long what a person said is a current instruction
GOVERNOR_DECISION_S = 86_400  # how long a decision waits for its approval
GOVERNOR_APPROVAL_S = 3_600  # how long an approval may be used
GOVERNOR_FAILURES_S = 3_600  # within which two failures of one kind stop an agent
GOVERNOR_OUTCOMES_ITEMS_READ = 1_000  # the newest, to look for failures
LEASES_ITEMS_MAX = 100  # that an agent has at once
LEASE_S_MAX = 7_776_000  # 90 days; a longer one is granted again
LEASE_EXPIRING_S = 3_600  # before its end, of which a lease may notify
LEASE_NOTICES_ITEMS_MAX = 50  # kept with a lease
STATE_FRESH_S_MAX = 86_400  # of a current state that an agent observed
LANE_APPLIED_ITEMS_READ = 2_000  # claims that an agent applied by itself, to count those of a day
SPINE_LISTED_ITEMS_MAX = 1_000  # packets in one list
STANDING_TEXT_CHARS_READ = 20_000  # of a turn, for patterns
STANDING_TURNS_ITEMS_MAX = 10_000  # read in one update
STANDING_TRAIL_ITEMS_MAX = 1_000  # of one person, as it is shown
SCAFFOLD_EVIDENCE_ITEMS_MIN = 2  # outcomes behind a proposal
REFINER_OUTCOMES_ITEMS_READ = 1_000  # the newest
BUNDLE_ROWS_ITEMS_MAX = 100_000  # records in one research bundle
SPENDING_RESERVED_MS = 900_000  # longer than any call takes with all of its attempts
SPENDING_DAYS_MAX = 400  # of the record of what was spent
SPENDING_BUSY_MS = 10_000  # that a call waits for other processes to record theirs
MODEL_COMMAND_MS = 300_000  # for a program that is the language model
MODEL_COMMAND_BYTES_MAX = 4_194_304  # of what it prints
EMBED_REQUEST_ITEMS_MAX = 64
EMBED_REQUEST_BYTES_MAX = 262_144
EMBED_CUT_CHARS_MIN = 256
EMBED_CACHE_BYTES_MAX = 32 * 1024**2
RERANK_ITEMS_MAX = 256
RERANK_LISTED_ITEMS_MAX = 30
RERANK_LISTED_CHARS_MAX = 1_200
CASSETTE_BYTES_MAX = 64 * 1024**2

# Ingestion
INGEST_BATCH_TURNS = 500
EXTRACT_CHARS_MAX = 20_000
ENTITIES_PER_TURN_MAX = 200
DATES_PER_TURN_MAX = 200
CANDIDATES_PER_TURN_MAX = 100
CANDIDATES_COMPARED_ITEMS_MAX = 200
ENTITY_WORDS_MAX = 6
CANDIDATE_VALUE_CHARS_MAX = 80
DATE_NEAREST_DAYS_MAX = 150
DUPLICATE_HITS_READ = 10
MATCH_HITS_READ = 20
MATCH_TERMS_MAX = 200
STATEMENT_CHARS_READ = 4_000
SENTENCE_CHARS_MAX = 600
CLAIMS_PER_TEXT_ITEMS_MAX = 16
CANDIDATE_QUERIES_ITEMS_MAX = 4
DETECT_BYTES_READ = 262_144
DETECT_LINES_READ = 50
SKIPPED_ITEMS_MAX = 20
PREVIEW_ITEMS_MAX = 20
FREE_BYTES_MIN = 512 * 1024**2
IMPORT_FILE_BYTES_MAX = 4 * 1024**3
IMPORT_LINE_BYTES_MAX = 64 * 1024**2
ARCHIVE_BYTES_MAX = 2 * 1024**3
EXPORT_BYTES_MAX = 64 * 1024**3
IMPORT_AHEAD_MS = 86_400_000
IMPORT_AT_ONCE_LINES_MAX = 50_000
IMPORT_BATCH_ITEMS_MAX = 2_000
IMPORT_DEPTH_MAX = 100
LOAD_NODES_AT_ONCE_ITEMS_MAX = 5_000  # of one transaction
LOAD_EDGES_AT_ONCE_ITEMS_MAX = 50_000
LOAD_ITEMS_AT_ONCE_ITEMS_MAX = 500
IMPORT_NOTE_BYTES_MAX = 8 * 1024**2  # a Markdown file that is one belief
IMPORT_FINGERPRINT_BYTES_READ = 4_096  # at both ends of what was read
IMPORT_DOCUMENT_BYTES_MAX = 16 * 1024**2  # of a document that is read as a whole
IMPORT_WATCH_LEASE_MS = 60_000  # how long a killed `doxa watch` keeps another from going on
IMPORT_WATCH_S = 5  # between two of its rounds
IMPORT_FOLDERS_ITEMS_MAX = 1_000  # of one import, that get a project of their own
IMPORT_ENTRIES_ITEMS_MAX = 100_000  # of one document
IMPORT_NAME_CHARS_MAX = 200  # of a session, a document or a speaker

# Jobs
EMBED_BATCH_DOCS = 64
VECTORS_DROPPED_ITEMS_MAX = 4_096
EMBED_PARTS_PER_DOC_MAX = 32
EMBED_PASSAGE_CHARS_MAX = 1_200
EMBED_SENTENCES_PER_DOC_MAX = 24
EMBED_FIELDS_PER_DOC_MAX = 24
COMMAND_EMBED_DOCS = 64
JOB_ATTEMPTS_MAX = 8
JOB_SILENT_DAYS_MAX = 7  # without a run that ended well, `doctor` reports the job
JOB_LEASE_MS = 60_000  # how long a job that has died keeps others from running it
NIGHTSHIFT_LEASE_MS = 900_000  # the same for the night shift
NIGHTSHIFT_PAUSE_S = 60  # between two looks whether one is due
NIGHTSHIFT_EVERY_S = 86_400  # between two of them, where nothing else is asked for
NIGHTSHIFT_SESSIONS_ITEMS_MAX = 20  # that it consolidates
NIGHTSHIFT_SOURCES_ITEMS_MAX = 2_000  # whose mentions it records
NIGHTSHIFT_BATCH_ITEMS_MAX = 100
RUN_TOUCHED_ITEMS_DEFAULT = 20  # elements that a run of a job touches
RUN_TOUCHED_ITEMS_MAX = 10_000
RUN_REPORT_CHARS_MAX = 65_536
RUNS_REGULAR_ITEMS_MAX = 50  # records of a job that doxa does by itself, of one project
RUN_PROPOSALS_ITEMS_MAX = 1_000
PROPOSAL_ABOUT_ITEMS_MAX = 100
JOB_PAUSE_MS = 200
JOB_STOP_S = 30

# Dream
DREAM_BATCH_ITEMS_MAX = 20  # what an assessor is given at a time
DREAM_PAGE_ENTRIES_MAX = 500  # log entries between two positions of the cursor
DREAM_ITEMS_MAX = 1_000  # beliefs that a run assesses
DREAM_AGE_DAYS_MIN = 7  # before a belief may be retired by a run
DREAM_SUMMARY_TURNS = 20  # of a thread without a summary
DREAM_ENTITY_TURNS = 5  # that name somebody of whom nothing is believed
DREAM_MODEL_TOKENS_MAX = 2_048

# Query
QUERY_TEXT_CHARS_MAX = 4_194_304
EXPRESSION_DEPTH_MAX = 50
EXPRESSION_ITEMS_MAX = 200
QUERY_HELD_BYTES_MAX = 512 * 1024**2
QUERY_SORTED_BYTES_MAX = 256 * 1024**2
QUERY_SPILLED_BYTES_MAX = 16 * 1024**3
VALUE_ITEMS_MAX = 10_000_000
VALUE_CHARS_MAX = 64 * 1024**2
QUERY_TIMEOUT_MS = 600_000
PLANS_MAX = 1_000
IMAGE_BYTES_MAX = 64 * 1024**2  # of resident columns and adjacency, by default
FIRST_STATEMENT_ITEMS_MAX = 10_000

# Shell
SHELL_HISTORY_LINES_MAX = 2_000

# Logins
LOGIN_NAME_CHARS_MAX = 100
LOGIN_SECRET_BYTES_MAX = 4_096
LOGIN_SECRET_CHARS_MIN = 8
LOGIN_ATTEMPTS_MAX = 5
LOGIN_PAUSE_MS = 5_000
LOGIN_WAIT_MS = 10_000  # of a password for others that are verified before it
LOGIN_USERS_ITEMS_MAX = 10_000
DATABASES_ITEMS_MAX = 1_000  # of one folder
SERVE_STOP_MS = 10_000  # in which `doxa serve` drains, flushes, checkpoints and ends
WORKERS_ITEMS_MAX = 64  # processes of one server
WORKER_RESTARTS_ITEMS_MAX = 10  # within WORKER_RESTARTS_MS, before the server gives up
WORKER_RESTARTS_MS = 60_000
BACKUP_EVERY_S = 86_400  # between two backups of `doxa backups run`
FOLLOW_EVERY_S = 10  # between two looks of `doxa follow`
FOLLOW_SILENCE_S = 300  # of the other end of a shipment over a pipe, before it ends
FOLLOW_FRAME_BYTES_MAX = 1_048_576
FOLLOW_MESSAGE_BYTES_MAX = 536_870_912  # an entry of the log, in frames
METRICS_DATABASES_ITEMS_MAX = 50  # whose numbers /metrics has
SERVE_FLUSH_MS = 2_000  # of them, for other writers before what was accessed is written

# Bolt
BOLT_THREADS_MAX = 256
BOLT_LOGIN_MS = 30_000
BOLT_STOP_MS = 5_000
BOLT_SEND_MS = 120_000
BOLT_LOGIN_BYTES_MAX = 65_536
BOLT_MESSAGE_BYTES_MAX = 67_108_864
BOLT_MESSAGE_ITEMS_MAX = 4_000_000
BOLT_DEPTH_MAX = 100
BOLT_QUEUE_BYTES_MAX = 1_048_576

# Units
ARTIFACTS_PER_UNIT_ITEMS_MAX = 100
ARTIFACT_CHUNK_BYTES_READ = 1_048_576
KNOWN_ITEMS_MAX = 10  # beliefs that the answer of a stored unit names
EXECUTION_OUTPUT_CHARS_MAX = 4_000
DISCOVERED_EDGES_ITEMS_MAX = 20
DISCOVERY_QUERIES_ITEMS_MAX = 8
SURVEY_ITEMS_MAX = 100  # of each list of a survey
STALE_DAYS_MAX = 36_500

# Idempotency keys
IDEMPOTENCY_KEY_CHARS_MAX = 200
IDEMPOTENCY_KEY_TTL_S = 86_400
IDEMPOTENCY_KEYS_ITEMS_MAX = 100_000
IDEMPOTENCY_ANSWER_BYTES_MAX = 1_048_576
IDEMPOTENCY_EXPIRED_ITEMS_READ = 100  # keys that one call removes

# Events
EVENT_BATCH_ITEMS_MAX = 1_000  # log entries that a consumer reads at a time
EVENT_POLL_MS = 100  # how often one that follows looks for commits of other processes
EVENT_CURSORS_ITEMS_MAX = 1_000
EVENT_PATTERNS_ITEMS_MAX = 100
EVENT_COMMAND_MS = 600_000  # of one run of the command of `doxa on`
HTTP_EVENT_STREAMS_ITEMS_MAX = 32
HTTP_EVENT_HEARTBEAT_MS = 15_000

# HTTP
HTTP_CONNECTIONS_ITEMS_MAX = 256
HTTP_THREADS_MAX = 32
HTTP_LOGIN_THREADS_MAX = 2
HTTP_LOGIN_KEPT_MS = 5_000
HTTP_HEAD_BYTES_MAX = 65_536
HTTP_HEAD_MS = 10_000
HTTP_IDLE_MS = 60_000
HTTP_BODY_BYTES_MAX = 16_777_216
HTTP_BODY_ITEMS_MAX = 1_000_000
HTTP_BODY_MS = 60_000
HTTP_BATCH_ITEMS_MAX = 10_000
HTTP_DEPTH_MAX = 100
HTTP_ANSWER_BYTES_MAX = 67_108_864
HTTP_HELD_BYTES_MAX = 536_870_912
HTTP_SEND_MS = 120_000
HTTP_STOP_MS = 5_000
HTTP_CONTEXT_ITEMS_MAX = 32
HTTP_CONTEXT_NAME_CHARS_MAX = 64
HTTP_CONTEXT_VALUE_BYTES_MAX = 1_024

# The HTTP API
API_PER_S_ITEMS_MAX = 500  # requests of a login, on average
API_BURST_ITEMS_MAX = 2_000  # requests of a login at once, after a pause
API_EVENTS_ITEMS_MAX = 1_000  # in one answer
API_JOBS_RUNNING_ITEMS_MAX = 4
API_JOBS_ITEMS_MAX = 200  # that are remembered, running ones among them
API_JOBS_OF_LOGIN_ITEMS_MAX = 50  # of these
API_LINK_MS = 120_000  # how long a link that opens a browser session is good
API_BROWSER_SESSION_S = 43_200
API_BROWSER_SESSIONS_ITEMS_MAX = 1_000

# MCP
MCP_BODY_BYTES_MAX = 4_194_304
MCP_EVENTS_ITEMS_MAX = 200
MCP_ROWS_ITEMS_MAX = 1_000
MCP_PAGE_ITEMS_MAX = 100  # resources in a page of their list
MCP_TEXT_CHARS_MAX = 8_000  # of a result's text; its structured form is whole
MCP_QUESTION_MS = 600_000  # how long a person may take to answer
MCP_QUESTIONS_ITEMS_MAX = 1_000  # questions that wait for an answer
MCP_SESSIONS_ITEMS_MAX = 1_000
MCP_LIST_TTL_MS = 300_000  # how long a client may keep the lists that never change
MCP_PROGRESS_MS = 100  # between two notes of progress

# Working memory
RETAIN_EVERY_S = 86_400  # retention policies are applied in the background
WORKING_TTL_S = 3_600
WORKING_TTL_S_MAX = 604_800
WORKING_MESSAGES_ITEMS_MAX = 50
WORKING_MESSAGE_BYTES_MAX = 65_536
WORKING_SESSIONS_ITEMS_MAX = 10_000
WORKING_NAME_CHARS_MAX = 200
WORKING_REDIS_MS = 2_000
WORKING_REDIS_ATTEMPTS_MAX = 3

# Hooks of agent hosts
HOOK_BRIEF_CHARS_MAX = 1_500  # of a brief, as it is injected, without identity
HOOK_IDENTITY_CHARS_MAX = (
    8_000  # of identity in it, all or none: twice its limit, since it is quoted
)
HOOK_PROMPT_CHARS_MAX = 800  # of what a prompt brings in
HOOK_TEXT_CHARS_MAX = 200_000  # of a captured message
HOOK_SESSIONS_S_MAX = 2_592_000  # how long the state of a conversation is kept
HOOK_QUESTION_CHARS_MAX = 1_000  # of a prompt, for recall
HOOK_INPUT_CHARS_MAX = 16_777_216  # of what a host sends about an event

# Context and attachments of agents
CONTEXT_TOKENS_DEFAULT = 2_000  # of an assembled context, by default
CONTEXT_TOKENS_MIN = 200  # the least budget of a context
CONTEXT_TOKENS_MAX = 100_000  # the largest budget of a context
CONTEXT_QUOTE_CHARS_MAX = 800  # of a message that a context quotes
VERIFIER_FILE_BYTES_MAX = 15_728_640  # of a file that a verifier hashes
VERIFIER_COMMAND_MS = 2_000  # that the command of a verifier may take
VERIFIER_COMMAND_ITEMS_MAX = 50  # of the command of a verifier
ATTACHMENT_BYTES_MAX = 15_728_640  # of an attached file
ATTACHMENT_TEXT_CHARS_MAX = 190_000  # of the text that is read from it
ATTACHMENT_EXCERPT_CHARS_MAX = 900  # of it that later turns may carry
ATTACHMENT_OBSERVATION_CHARS_MAX = 1_200  # of what was last observed of it
ATTACHMENT_PAGES_ITEMS_MAX = 500  # of a PDF that are read
ATTACHMENT_READ_MS = 20_000  # that reading a document may take
ATTACHMENT_MEMORY_BYTES_MAX = 1_073_741_824  # of memory that reading a document may take, on Linux
ATTACHMENT_UNPACKED_BYTES_MAX = 104_857_600  # of a Word document when unpacked
ATTACHMENT_RATIO_ITEMS_MAX = 100  # that it may grow when unpacked
ATTACHMENT_ENTRIES_ITEMS_MAX = 2_000  # of a Word document

# Consolidation
CONSOLIDATED_TURNS_ITEMS_MAX = 100  # of one part of a session
CONSOLIDATED_TEXT_CHARS_MAX = 2_000_000  # a structure that a producer gives, as JSON
CONSOLIDATED_WINDOW_CHARS_MAX = 24_000  # of turns in one call of a model
CONSOLIDATED_CALLS_ITEMS_MAX = 4  # calls of a model at once
CONSOLIDATED_SOURCES_ITEMS_MAX = 20  # turns that one entry is drawn from
CONSOLIDATED_TOKENS_MAX = 4_096  # of one answer of a model
CONSOLIDATED_ATTEMPTS_MAX = 3  # calls of a model for one window, in one run
CONSOLIDATED_RETRY_S_MIN, CONSOLIDATED_RETRY_S_MAX = 60, 86_400
# Adapters of agent frameworks
ADAPTER_ID_CHARS_MAX = 1_000  # of an identifier of a user, an agent or a conversation

# Continuity of an agent's conversations
HANDOFF_PAUSE_S = 60  # between two handoffs of a session, unless one is forced
HANDOFF_EXCHANGES_ITEMS_MIN = 3  # after so many exchanges one is written earlier
HANDOFF_STALE_S = 86_400
HANDOFF_ORPHANED_S = 604_800  # such a handoff is not handed over any more
HANDOFF_TURNS_ITEMS_MAX = 12  # turns that a handoff names
HANDOFF_WINDOW_ITEMS_MAX = 40  # turns that its topics, key points and commitments are read from
HANDOFF_LINES_ITEMS_MAX = 5  # topics, key points and open ends of a handoff, each
HANDOFF_PROSE_CHARS_MAX = 1_200
RESUME_S_MAX = 3_600  # a session that stopped longer ago begins with a handoff
CONTINUITY_TURN_CHARS_MAX = 3_000  # of a turn, that topics and commitments are read from
CONSOLIDATE_COMPACTIONS_ITEMS_MIN = 5  # after these a thread is to begin with a new session
REPEATED_TURN_S = 60  # the same words on two channels within this time are one message
CONTINUITY_TURNS_ITEMS_MAX = 2_000  # turns that exchanges and topics of one call are read from
ARCHIVE_BATCH_ITEMS_MAX = 1_000
KNOWLEDGE_FILE_BYTES_MAX = 1_048_576
KNOWLEDGE_FILES_ITEMS_MAX = 2_000  # of one folder
KNOWLEDGE_SECTION_CHARS_MAX = 8_000
KNOWLEDGE_RECALLED_CHARS_MAX = 600  # of a section that goes into a prompt
HOOK_BEFORE_MS = 150  # budget of a hook that a host waits for before a turn
HOOK_AFTER_MS = 250  # budget of one after it
HOOK_METRICS_BYTES_MAX = 1_048_576  # of the file of measurements; one older is kept
