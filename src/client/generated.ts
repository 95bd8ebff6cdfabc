/** Made of openapi/openapi.yaml by `npm run client-types`; `npm test` fails when it is out of date. */
/* eslint-disable */
export type paths = Record<string, never>;
export type webhooks = Record<string, never>;
export interface components {
  schemas: {
    /** @description Seconds that the server worked on the request. */
    Seconds: number;
    /** @description What was passed over in the request; only in the dialect `qdrant`, and only where there is something. */
    Warnings: {
      /** @description The place and what became of it. */
      message: string;
    }[];
    /** @description A failure outside `/auth`. */
    Error: {
      time: components['schemas']['Seconds'];
      /** @description Says what went wrong. */
      status: {
        /** @description One sentence; it names the place in the body where there is one. */
        error: string;
      };
    };
    /** @description A failure under `/auth`. */
    AuthError: {
      /**
       * @description Always `error`.
       * @constant
       */
      status: 'error';
      /** @description One sentence that says what went wrong. */
      message: string;
    };
    /** @description The service and its versions. */
    Welcome: {
      /**
       * @description The name of the service.
       * @constant
       */
      title: 'kithdb - vector database';
      /** @description The level of Qdrant's API that is served. */
      version: string;
      /** @description The version of KithDB. */
      kithdb_version: string;
      /**
       * @description What the interface does where its specification and Qdrant differ.
       * @enum {unknown}
       */
      dialect: 'specification' | 'qdrant';
      /**
       * @description Always `ok`.
       * @constant
       */
      status: 'ok';
      time: components['schemas']['Seconds'];
    };
    /** @description The outcome of a login. */
    LoginResult: {
      /** @description The JWT; null after a failure. */
      token: string | null;
      /** @description One sentence about the outcome. */
      message: string;
      /** @description Seconds for which the JWT is good; 0 after a failure. */
      expires_in: number;
    };
    /** @description What an access token is made from. */
    NewAccessToken: {
      /** @description Need not be unique. */
      name: string;
      /** @description Some of `read`, `write` and `admin`, comma-separated. None of them implies another. */
      permission: string;
      /** @description What the token is for. */
      description?: string | null;
      /**
       * @description Whether the token expires.
       * @default false
       */
      will_expire?: boolean | null;
      /** @description Needed when `will_expire` is true and ignored otherwise; then a whole number from 1 to 315360000. */
      expires_in_seconds?: unknown;
      /** @description The collections that it may reach, all otherwise. A token with limits cannot have `admin`. */
      collections?: components['schemas']['CollectionGrants'] | null;
      /** @description The points that it may read and write, all otherwise; without conditions on texts. A token with a filter is for points only. */
      filter?: components['schemas']['Filter'] | null;
    };
    /** @description The collections that a token may reach. Its rights are what both `permission` and these allow. */
    CollectionGrants: ({
      /** @description The name of a collection. */
      name?: string;
      /** @description How the names of collections begin. */
      prefix?: string;
      /** @description Some of `read` and `write`, comma-separated. */
      permission: string;
    } & (unknown | unknown))[];
    /** @description An access token without its value. */
    AccessToken: {
      /** @description The number by which it is rotated and deleted. */
      id: number;
      /** @description The name that was given to it. */
      name: string;
      /** @description What the token is for. */
      description: string | null;
      /**
       * Format: date-time
       * @description When it was made.
       */
      created_at: string;
      /**
       * Format: date-time
       * @description When it expires; null when it does not.
       */
      expired_at: string | null;
      /** @description Whether it expires. */
      will_expire: boolean;
      /** @description Some of `read`, `write` and `admin`, comma-separated. */
      permission: string;
      collections?: components['schemas']['CollectionGrants'];
      filter?: components['schemas']['Filter'];
    };
    /** @description An access token with its value. */
    IssuedAccessToken: {
      /** @description The number by which it is rotated and deleted. */
      id: number;
      /** @description The name that was given to it. */
      name: string;
      /** @description What the token is for. */
      description: string | null;
      /**
       * Format: date-time
       * @description When it was made.
       */
      created_at: string;
      /**
       * Format: date-time
       * @description When it expires; null when it does not.
       */
      expired_at: string | null;
      /** @description Whether it expires. */
      will_expire: boolean;
      /** @description Some of `read`, `write` and `admin`, comma-separated. */
      permission: string;
      collections?: components['schemas']['CollectionGrants'];
      filter?: components['schemas']['Filter'];
      /** @description The value; no later answer shows it. */
      token: string;
    };
    /** @description The name of a new collection. */
    CollectionName: string;
    /** @description The empty name is that of the unnamed vector. */
    VectorName: string;
    /**
     * @description A path into the payload: `a.b`, `a[].b` (every element), `a[0].b`, `"quo.ted".b`. A bare key is of letters and
     *     digits of any script, `_` and `-`.
     */
    Path: string;
    /** @description There is one shard. */
    ShardKey: null;
    /** @description An unsigned 64-bit integer, or a UUID in hyphenated, simple or URN form. In a collection with `ids: "string"` any string of 1 to 256 bytes of UTF-8; `7` and `"7"` are different ids there. */
    PointId: (number | bigint) | string;
    /** @description A number within the range of 32-bit floats. */
    Float32: number;
    /** @description As many numbers as the vector's `size`. */
    DenseVector: number[] | Float32Array;
    /** @description Rows of one length. */
    MultiVector: components['schemas']['DenseVector'][];
    /** @description As many values as indices; the indices are distinct. */
    SparseVector: {
      /** @description The positions of the components that are not 0. */
      indices: number[];
      /** @description The components at these positions. */
      values: number[] | Float32Array;
    };
    /** @description A message of JSON-RPC 2.0. */
    McpMessage: {
      /**
       * @description The version of JSON-RPC.
       * @constant
       */
      jsonrpc: '2.0';
      /** @description Names the request; absent for a notification. */
      id?: string | number;
      /** @description What is asked for, such as `tools/call`. */
      method: string;
      /** @description Of the method. */
      params?: Record<string, never>;
    };
    /** @description An answer of JSON-RPC 2.0. */
    McpAnswer: {
      /**
       * @description The version of JSON-RPC.
       * @constant
       */
      jsonrpc: '2.0';
      /** @description That of the request. */
      id?: string | number | null;
      /** @description What the method answers. */
      result?: Record<string, never>;
      /** @description Why it failed. */
      error?: Record<string, never>;
    };
    /** @description A text in place of a vector, and the model that makes the vector. `qdrant/bm25`, in any case, is built in; its vectors are sparse. Others are those of the server's setting `models`. */
    TextInput: {
      /** @description The text, at most 1 MiB. */
      text: string;
      /** @description The name of the model. */
      model: string;
      /** @description The options of `qdrant/bm25`; other models have none. */
      options?: components['schemas']['Bm25Options'] | null;
    };
    /** @description How texts are split into terms, and how terms are weighted. */
    Bm25Options: {
      /**
       * @description How much the repetitions of a term count.
       * @default 1.2
       */
      k?: number | null;
      /**
       * @description How much the length of the text counts.
       * @default 0.75
       */
      b?: number | null;
      /**
       * @description The average number of terms of a text.
       * @default 256
       */
      avg_len?: number | null;
      /**
       * @description The language of stop words and stemmer where these are not given, by name or code; `none` for neither.
       * @default english
       */
      language?: string | null;
      /**
       * @description How a text is cut into words.
       * @default word
       * @enum {unknown}
       */
      tokenizer?: 'word' | 'whitespace' | 'prefix' | 'multilingual' | null;
      /**
       * @description Whether words are compared in lower case.
       * @default true
       */
      lowercase?: boolean | null;
      /**
       * @description Whether letters with accents count as those without.
       * @default false
       */
      ascii_folding?: boolean | null;
      /** @description Words that are left out; those of the language when absent. */
      stopwords?: components['schemas']['StopWords'] | null;
      /** @description Reduces words to their stems; that of the language when absent. */
      stemmer?: components['schemas']['Stemmer'] | null;
      /** @description Shorter words are left out. */
      min_token_len?: number | null;
      /** @description Longer words are left out. */
      max_token_len?: number | null;
    };
    /** @description The unnamed vector, or vectors by name. `{}` is a point without vectors. */
    PointVectors:
      | components['schemas']['DenseVector']
      | components['schemas']['MultiVector']
      | components['schemas']['TextInput']
      | {
          [key: string]:
            | components['schemas']['DenseVector']
            | components['schemas']['MultiVector']
            | components['schemas']['SparseVector']
            | components['schemas']['TextInput']
            | null;
        };
    /** @description Any JSON object that is nested at most 64 deep. */
    Payload: {
      [key: string]: unknown;
    };
    /**
     * @description How two vectors are compared. `Cosine` and `Dot` are similarities, `Euclid` and `Manhattan` distances.
     * @enum {unknown}
     */
    Distance: 'Cosine' | 'Euclid' | 'Dot' | 'Manhattan';
    /**
     * @description How components are stored; `float32` when absent. `turbo4` is kept as `float16`.
     * @enum {unknown}
     */
    Datatype: 'float32' | 'float16' | 'uint8' | 'turbo4' | null;
    /**
     * @description How values are stored; `float32` when absent.
     * @enum {unknown}
     */
    SparseDatatype: 'float32' | 'float16' | 'uint8' | null;
    /** @description How payloads are stored. */
    PayloadStorage: {
      memory?: components['schemas']['Memory'];
    } | null;
    /**
     * @description Where the data of a component is wanted, with effect for original vectors; it overrides `on_disk` and `always_ram`. `cold` keeps as little as possible of it in memory, `cached` what is used, `pinned` all; a dense vector and payloads cannot be pinned.
     * @enum {unknown}
     */
    Memory: 'cold' | 'cached' | 'pinned' | null;
    /** @description The graph over the vectors. What is absent keeps its default, in a change its value. */
    HnswConfig: {
      /** @description Links of a node; 0 for no graph or `payload_m`. */
      m?: number | null;
      /** @description Candidates that are kept while a node is inserted. */
      ef_construct?: number | null;
      /** @description Candidates that a search keeps when it does not say. */
      ef_search?: number | null;
      /** @description Recall that a search chooses its width for when it does not say; it overrides `ef_search`. In a change of a collection null takes it away. */
      target_recall?: number | null;
      /** @description In KB of vectors. */
      full_scan_threshold?: number | null;
      /**
       * @deprecated
       * @description The same as `full_scan_threshold`.
       */
      full_scan_threshold_kb?: number | null;
      /** @description Threads that index this collection at a time; 0 for the server's choice. */
      max_indexing_threads?: number | null;
      memory?: components['schemas']['Memory'];
      /** @description Stored and shown, without effect. The graph stays in memory. */
      on_disk?: boolean | null;
      /** @description Links of a node where `m` is 0; otherwise without effect. Filtered searches need no extra links. */
      payload_m?: number | null;
      /** @description Stored and shown, without effect. */
      inline_storage?: boolean | null;
    } | null;
    /** @description Background maintenance. What is absent keeps its default, in a change its value. */
    OptimizersConfig: {
      /** @description Share of dead rows from which they are vacuumed. */
      deleted_threshold?: number | null;
      /** @description Dead rows of a graph below which it is not vacuumed. */
      vacuum_min_vector_number?: number | null;
      /** @description Stored and shown, without effect. */
      default_segment_number?: number | null;
      /** @description Stored and shown, without effect. */
      max_segment_size?: number | null;
      /**
       * @deprecated
       * @description The same as `max_segment_size`.
       */
      max_segment_size_kb?: number | null;
      /** @description Stored and shown, without effect. */
      memmap_threshold?: number | null;
      /**
       * @deprecated
       * @description The same as `memmap_threshold`.
       */
      memmap_threshold_kb?: number | null;
      /** @description In KB of vectors; 0 for no graph. */
      indexing_threshold?: number | null;
      /**
       * @deprecated
       * @description The same as `indexing_threshold`.
       */
      indexing_threshold_kb?: number | null;
      /** @description Stored and shown, without effect. Every write is synced as `durability` says. */
      flush_interval_sec?: number | null;
      /** @description Threads that work on this collection's graphs at a time; `auto` for the server's choice, 0 for none. */
      max_optimization_threads?: number | ('auto' | null);
      /** @description Stored and shown, without effect. */
      prevent_unoptimized?: boolean | null;
    } | null;
    /** @description The log of writes. What is absent keeps its default, in a change its value. */
    WalConfig: {
      /** @description Stored and shown, without effect. The server has one log. */
      wal_capacity_mb?: number | null;
      /** @description Stored and shown, without effect. */
      wal_segments_ahead?: number | null;
      /** @description Stored and shown, without effect. */
      wal_retain_closed?: number | null;
      /**
       * @description When a change is acknowledged. `always`: after the sync; it survives a power cut. `interval`: when the operating system has it; it survives the end of the process, and a power cut from a second later on. `os`: likewise, without a promise of when it is synced. What a power cut takes is always the last of a collection's changes.
       * @default always
       * @enum {unknown}
       */
      durability?: 'always' | 'interval' | 'os' | null;
    } | null;
    /** @description Shorter codes of the vectors, by which the graph is walked. */
    Quantization:
      | {
          /** @description Eight bits a component. */
          scalar: {
            /**
             * @description Always `int8`.
             * @constant
             */
            type: 'int8';
            /** @description Share of the values that the range of the codes covers. */
            quantile?: number | null;
            memory?: components['schemas']['Memory'];
            /** @description Stored and shown. Codes are always in memory. */
            always_ram?: boolean | null;
          };
          /** @description Absent or null beside `scalar`. */
          product?: null;
          /** @description Absent or null beside `scalar`. */
          binary?: null;
          /** @description Absent or null beside `scalar`. */
          turbo?: null;
        }
      | {
          /** @description Product quantisation. */
          product: {
            /**
             * @description How many times shorter a code is than 32-bit floats.
             * @enum {unknown}
             */
            compression: 'x4' | 'x8' | 'x16' | 'x32' | 'x64';
            memory?: components['schemas']['Memory'];
            /** @description Stored and shown. Codes are always in memory. */
            always_ram?: boolean | null;
          };
          /** @description Absent or null beside `product`. */
          scalar?: null;
          /** @description Absent or null beside `product`. */
          binary?: null;
          /** @description Absent or null beside `product`. */
          turbo?: null;
        }
      | {
          /** @description One or two bits a component. */
          binary: {
            memory?: components['schemas']['Memory'];
            /** @description Stored and shown. Codes are always in memory. */
            always_ram?: boolean | null;
            /**
             * @description Bits of a component; one when absent.
             * @enum {unknown}
             */
            encoding?: 'one_bit' | 'two_bits' | 'one_and_half_bits' | null;
            /**
             * @description Stored and shown, without effect. Queries keep 8 bits or more a component.
             * @enum {unknown}
             */
            query_encoding?: 'default' | 'binary' | 'scalar4bits' | 'scalar8bits' | null;
          };
          /** @description Absent or null beside `binary`. */
          scalar?: null;
          /** @description Absent or null beside `binary`. */
          product?: null;
          /** @description Absent or null beside `binary`. */
          turbo?: null;
        }
      | {
          /** @description One to four bits a component, after a rotation. */
          turbo: {
            /**
             * @description Bits of a component; four when absent. `bits1_5` gets two.
             * @enum {unknown}
             */
            bits?: 'bits1' | 'bits1_5' | 'bits2' | 'bits4' | null;
            memory?: components['schemas']['Memory'];
            /** @description Stored and shown. Codes are always in memory. */
            always_ram?: boolean | null;
          };
          /** @description Absent or null beside `turbo`. */
          scalar?: null;
          /** @description Absent or null beside `turbo`. */
          product?: null;
          /** @description Absent or null beside `turbo`. */
          binary?: null;
        };
    /** @description A quantisation; null for the server's choice. */
    MaybeQuantization: components['schemas']['Quantization'] | null;
    /** @description Another quantisation, or `Disabled` for none. */
    QuantizationChange: components['schemas']['Quantization'] | ('Disabled' | null);
    /** @description What a collection declares of a vector. */
    VectorParams: {
      /** @description Components of the vector. */
      size: number;
      distance: components['schemas']['Distance'];
      hnsw_config?: components['schemas']['HnswConfig'];
      quantization_config?: components['schemas']['MaybeQuantization'];
      /** @deprecated */
      quantization?: components['schemas']['MaybeQuantization'];
      memory?: components['schemas']['Memory'];
      /** @description Whether the original vectors may leave memory. With false they stay in it; when absent the system decides by use. */
      on_disk?: boolean | null;
      datatype?: components['schemas']['Datatype'];
      /** @description Makes the vector a list of rows that are compared together. */
      multivector_config?: {
        /**
         * @description `max_sim` adds up, over the rows of the query, the best similarity to a row of the point.
         * @constant
         */
        comparator: 'max_sim';
      } | null;
      model?: components['schemas']['FieldModel'];
    };
    /** @description The model that the vectors of a field are of. Requests that name another one are refused. */
    FieldModel: {
      /** @description The name of the model. */
      name: string;
      /** @description Which version of the model; kept and shown. */
      revision?: string | null;
      /** @description The payload field with the text of each vector; kept and shown. */
      text_key?: string | null;
      /** @description Whether a request has to name the model of its vectors. */
      required?: boolean | null;
    } | null;
    /** @description A model, or its name alone. Text key and `required` that are left out stay as they are. */
    NewModel: string | components['schemas']['FieldModel'];
    /** @description By which model a vector is embedded anew. */
    ReembedRequest: {
      model: components['schemas']['NewModel'];
      /** @description Components that the vectors of the model must have; any number when absent. */
      size?: number | null;
      /** @description Texts that are embedded in a second, at most; as many as the model takes when absent. */
      rate?: number | null;
    };
    /** @description Whether points may be left without a vector. */
    CommitReembedding: {
      /** @description Also while points have no new vector; these have none afterwards. */
      allow_missing?: boolean | null;
    };
    /** @description How far a re-embedding is. */
    Reembedding: {
      model: components['schemas']['FieldModel'];
      /** @description Components of the new vectors. */
      size: number;
      /** @description Texts a second at most; absent where there is no limit. */
      rate?: number;
      /**
       * @description `waiting`: no process with the data embeds. `running`: texts are being embedded. `retrying`: the model failed, and is asked again after a pause. `ready`: every text has its new vector.
       * @enum {unknown}
       */
      state: 'waiting' | 'running' | 'retrying' | 'ready';
      /** @description Points that have a new vector. */
      done: number;
      /** @description Points that have a vector. */
      total: number;
      /** @description Points that were found to have no text at the text key. */
      missing_texts: number;
      /** @description Seconds that the rest will take; null where that is not known yet. */
      eta_seconds: number | null;
      /** @description Why the model failed; only where it is asked again. */
      error?: string;
    };
    /** @description The envelope of how far a re-embedding is. */
    ReembeddingAnswer: {
      time: components['schemas']['Seconds'];
      /**
       * @description Always `ok`.
       * @constant
       */
      status: 'ok';
      warnings?: components['schemas']['Warnings'];
      result: components['schemas']['Reembedding'];
    };
    /** @description The model of the request's vectors that are no texts, or an object from vector field to model. */
    NamedModels:
      | string
      | {
          [key: string]: string | null;
        }
      | null;
    /** @description What a vector is that is added to a collection, as far as it cannot be changed later. */
    VectorNameConfig:
      | {
          dense: components['schemas']['NewDenseVector'];
        }
      | {
          sparse: components['schemas']['NewSparseVector'];
        };
    /** @description A dense vector that is added. */
    NewDenseVector: {
      /** @description Components of the vector. */
      size: number;
      distance: components['schemas']['Distance'];
      datatype?: components['schemas']['Datatype'];
      /** @description Makes the vector a list of rows that are compared together. */
      multivector_config?: {
        /**
         * @description `max_sim` adds up, over the rows of the query, the best similarity to a row of the point.
         * @constant
         */
        comparator: 'max_sim';
      } | null;
    };
    /** @description A sparse vector that is added. */
    NewSparseVector: {
      /**
       * @description `idf` multiplies the weights of a query with the inverse document frequency of their index.
       * @enum {unknown}
       */
      modifier?: 'none' | 'idf' | null;
      datatype?: components['schemas']['SparseDatatype'];
    };
    /** @description The unnamed vector, or at most 64 vectors by name. */
    VectorsConfig:
      | components['schemas']['VectorParams']
      | {
          [key: string]: components['schemas']['VectorParams'] | null;
        }
      | null;
    /** @description What a collection declares of a sparse vector. */
    SparseVectorParams: {
      /** @description How it is stored. */
      index?: {
        /** @description Stored and shown, without effect. Every sparse search is exact. */
        full_scan_threshold?: number | null;
        /**
         * @deprecated
         * @description The same as `full_scan_threshold`.
         */
        full_scan_threshold_kb?: number | null;
        memory?: components['schemas']['Memory'];
        /** @description Whether the original vectors may leave memory. With false they stay in it; when absent the system decides by use. */
        on_disk?: boolean | null;
        datatype?: components['schemas']['SparseDatatype'];
      } | null;
      /**
       * @description `idf` multiplies the weights of a query with the inverse document frequency of their index.
       * @enum {unknown}
       */
      modifier?: 'none' | 'idf' | null;
      model?: components['schemas']['FieldModel'];
    } | null;
    /** @description Sparse vectors by name. */
    SparseVectorsConfig: {
      [key: string]: components['schemas']['SparseVectorParams'];
    } | null;
    /** @description Limits of the collection, enforced while `enabled` is true. It cannot be enabled together with a limit that is not enforced, as those say. */
    StrictModeConfig: {
      /** @description Whether the limits are enforced. */
      enabled?: boolean | null;
      /** @description The largest `limit` of a read. */
      max_query_limit?: number | null;
      /** @description The largest `timeout`, in seconds. */
      max_timeout?: number | null;
      /** @description Whether reads may filter by fields without an index. */
      unindexed_filtering_retrieve?: boolean | null;
      /** @description Whether writes may filter by fields without an index. */
      unindexed_filtering_update?: boolean | null;
      /** @description The largest `hnsw_ef`. */
      search_max_hnsw_ef?: number | null;
      /** @description Whether searches may be exact. */
      search_allow_exact?: boolean | null;
      /** @description The largest `oversampling`. */
      search_max_oversampling?: number | null;
      /** @description Points of an upsert. */
      upsert_max_batchsize?: number | null;
      /** @description Searches of a batch. */
      search_max_batchsize?: number | null;
      /** @description Bytes of the vectors of live points; when they are reached, what brings more is refused. */
      max_collection_vector_size_bytes?: number | null;
      /** @description Bytes of the payloads of live points; when they are reached, what brings more is refused. */
      max_collection_payload_size_bytes?: number | null;
      /** @description Tokens that reads take in a minute; a query takes one for each vector, condition and prefetch. */
      read_rate_limit?: number | null;
      /** @description Tokens that updates of points take in a minute, one for each point and five for a filter. */
      write_rate_limit?: number | null;
      /** @description Points of the collection. */
      max_points_count?: number | null;
      /** @description Conditions of a filter. */
      filter_max_conditions?: number | null;
      /** @description Values of a condition. */
      condition_max_size?: number | null;
      /** @description Limits of multi-vectors by name, `max_vectors` is the rows of one. */
      multivector_config?: {
        [key: string]: Record<string, never>;
      } | null;
      /** @description Limits of sparse vectors by name, `max_length` is the indices of one. */
      sparse_config?: {
        [key: string]: Record<string, never>;
      } | null;
      /** @description Field indexes of the collection. */
      max_payload_index_count?: number | null;
    } | null;
    /** @description The vectors and the settings of a new collection. */
    CreateCollection: {
      vectors?: components['schemas']['VectorsConfig'];
      /** @description The same as `vectors`. */
      vectors_config?: components['schemas']['VectorsConfig'];
      sparse_vectors?: components['schemas']['SparseVectorsConfig'];
      hnsw_config?: components['schemas']['HnswConfig'];
      optimizers_config?: components['schemas']['OptimizersConfig'];
      /** @deprecated */
      optimizer_config?: components['schemas']['OptimizersConfig'];
      wal_config?: components['schemas']['WalConfig'];
      quantization_config?: components['schemas']['MaybeQuantization'];
      /** @deprecated */
      quantization?: components['schemas']['MaybeQuantization'];
      payload?: components['schemas']['PayloadStorage'];
      /** @description Stored and shown; false is without effect. */
      on_disk_payload?: boolean | null;
      expire_at_key?: components['schemas']['ExpireAtKey'];
      field_indexes?: components['schemas']['FieldIndexes'];
      residency?: components['schemas']['Residency'];
      /**
       * @description Which ids points have: `default` (or null) is integers and UUIDs, `string` is integers and strings. It cannot be changed later.
       * @enum {unknown}
       */
      ids?: 'default' | 'string' | null;
      /** @description Any JSON object of the user's own. */
      metadata?: {
        [key: string]: unknown;
      } | null;
      strict_mode_config?: components['schemas']['StrictModeConfig'];
      /**
       * @description How many parts the points are spread over by their ids, for the life of the collection; 1 unless given. On one node
       *     it is stored and shown, without effect.
       */
      shard_number?: number | null;
      /**
       * @description Only `auto`.
       * @enum {unknown}
       */
      sharding_method?: 'auto' | null;
      /**
       * @description How many nodes of a cluster have each shard; the number of nodes, 3 at most, unless given. On one node it is stored
       *     and shown, without effect.
       */
      replication_factor?: number | null;
      /**
       * @description How many replicas of each shard have a write durably before it is acknowledged; a majority unless given. On one node
       *     it is stored and shown, without effect.
       */
      write_consistency_factor?: number | null;
    };
    /** @description The payload field that says when a point comes to its end; a date-time, or integer seconds since 1970. From then on no read finds the point. In a change `null` removes the key. */
    ExpireAtKey: components['schemas']['Path'] | null;
    /**
     * @description `auto` (or null) makes a field index where filters have cost more than it would, and drops it when it is not used; `manual` makes none.
     * @enum {unknown}
     */
    FieldIndexes: 'auto' | 'manual' | null;
    /**
     * @description `auto` (or null) lets the collection give its memory back while it is not used, until a request needs its points; `hot` keeps it in memory.
     * @enum {unknown}
     */
    Residency: 'auto' | 'hot' | null;
    /** @description The collection to be made. */
    CloneCollection: {
      /** @description Its name, which no collection has. */
      name: string;
    };
    /** @description The settings to change; what is absent stays. */
    UpdateCollection: {
      /** @description By name; the unnamed vector is under `""`. */
      vectors?: {
        [key: string]: {
          hnsw_config?: components['schemas']['HnswConfig'];
          quantization_config?: components['schemas']['QuantizationChange'];
          /** @deprecated */
          quantization?: components['schemas']['QuantizationChange'];
          memory?: components['schemas']['Memory'];
          /** @description Whether the original vectors may leave memory. */
          on_disk?: boolean | null;
          model?: components['schemas']['FieldModel'];
        } | null;
      } | null;
      sparse_vectors?: components['schemas']['SparseVectorsConfig'];
      hnsw_config?: components['schemas']['HnswConfig'];
      optimizers_config?: components['schemas']['OptimizersConfig'];
      /** @deprecated */
      optimizer_config?: components['schemas']['OptimizersConfig'];
      wal_config?: components['schemas']['WalConfig'];
      /** @description Settings of the whole collection. */
      params?: {
        /** @description Stored and shown, without effect on one node. */
        replication_factor?: number | null;
        /** @description Stored and shown, without effect on one node. */
        write_consistency_factor?: number | null;
        /** @description Stored and shown, without effect on one node. */
        read_fan_out_factor?: number | null;
        /** @description Stored and shown, without effect on one node. */
        read_fan_out_delay_ms?: number | null;
        payload?: components['schemas']['PayloadStorage'];
        /** @description Stored and shown; false is without effect. */
        on_disk_payload?: boolean | null;
      } | null;
      quantization_config?: components['schemas']['QuantizationChange'];
      /** @deprecated */
      quantization?: components['schemas']['QuantizationChange'];
      expire_at_key?: components['schemas']['ExpireAtKey'];
      field_indexes?: components['schemas']['FieldIndexes'];
      residency?: components['schemas']['Residency'];
      /** @description Merged; null deletes a key. */
      metadata?: {
        [key: string]: unknown;
      } | null;
      strict_mode_config?: components['schemas']['StrictModeConfig'];
    };
    /** @description The state of a collection, its counts and its configuration. */
    CollectionInfo: {
      /**
       * @description Green means that nothing awaits indexing; yellow that something does; red that there is a fault.
       * @enum {unknown}
       */
      status: 'green' | 'yellow' | 'grey' | 'red';
      /** @description `ok`, or what is wrong with the collection. */
      optimizer_status:
        | 'ok'
        | {
            /** @description The fault. */
            error: string;
          };
      /** @description Settings that were accepted and have no effect. */
      warnings: {
        /** @description One sentence about one setting. */
        message: string;
      }[];
      /** @description Vectors that do not await indexing; null for an access token with a filter. */
      indexed_vectors_count: number | null;
      /** @description Points of the collection; null for an access token with a filter. */
      points_count: number | null;
      /** @description Always 1; 0 when the collection cannot be opened. */
      segments_count: number;
      /** @description Measured recall of ten hits of a search without a filter and with default parameters; of the vector field where it is least. Null where none is measured. */
      recall_estimate?: {
        /** @description The mean. */
        recall: number;
        /** @description Lower end of the interval of 95 %. */
        low: number;
        /** @description Upper end of it. */
        high: number;
        /** @description Queries that were compared with an exact search. */
        samples: number;
        /** @description When the last one was, in seconds since 1970. */
        at: number;
      } | null;
      /** @description What it takes; null for an access token with a filter, and where it cannot be opened. */
      size?: {
        /** @description Bytes in memory, pages of files left out. */
        memory_bytes: number;
        /** @description Bytes of its files, the log left out. */
        disk_bytes: number;
      } | null;
      /** @description The declared models by vector field; absent where there is none. */
      vector_models?: {
        [key: string]: components['schemas']['FieldModel'];
      };
      /** @description The vectors that are being embedded anew; absent where there is none. */
      reembeddings?: {
        [key: string]: {
          /** @description Points that have a new vector. */
          done: number;
          /** @description Points that have a vector. */
          total: number;
        };
      };
      /** @description The settings with their effective values. */
      config: {
        /** @description The vectors and the settings of the whole collection. */
        params: {
          vectors: components['schemas']['VectorsConfig'];
          sparse_vectors?: components['schemas']['SparseVectorsConfig'];
          /** @description Without effect on one node. */
          shard_number: number;
          /** @description Without effect on one node. */
          replication_factor: number;
          /** @description Without effect on one node. */
          write_consistency_factor: number;
          /** @description Without effect on one node. */
          read_fan_out_factor?: number;
          /** @description Without effect on one node. */
          read_fan_out_delay_ms?: number;
          payload?: components['schemas']['PayloadStorage'];
          /** @description As it was set. */
          on_disk_payload: boolean;
        };
        hnsw_config: components['schemas']['HnswConfig'];
        optimizer_config: components['schemas']['OptimizersConfig'];
        wal_config: components['schemas']['WalConfig'];
        quantization_config: components['schemas']['MaybeQuantization'];
        strict_mode_config?: components['schemas']['StrictModeConfig'];
        /** @description The user's own JSON object. */
        metadata?: {
          [key: string]: unknown;
        };
      };
      expire_at_key?: components['schemas']['Path'];
      /**
       * @description No field index makes itself; absent where they do.
       * @constant
       */
      field_indexes?: 'manual';
      /**
       * @description Ids are integers and strings; absent where they are integers and UUIDs.
       * @constant
       */
      ids?: 'string';
      /** @description Whether it is in memory; absent where it is quarantined. */
      residency?: {
        /**
         * @description As it was set.
         * @enum {unknown}
         */
        setting: 'auto' | 'hot';
        /**
         * @description Where it is. Asking does not wake it.
         * @enum {unknown}
         */
        state: 'awake' | 'asleep' | 'waking';
        /** @description What it holds of the memory. */
        resident_bytes: number;
        /** @description How long its last opening took; null where the server has not opened it yet. */
        opened_ms: number | null;
      };
      /** @description The fields whose index the server made by itself; absent where there is none. */
      auto_indexes?: {
        [key: string]: {
          data_type: components['schemas']['FieldType'];
          /** @description Points with at least one indexed value. */
          points: number;
        };
      };
      /** @description The indexed fields. */
      payload_schema: {
        [key: string]: {
          data_type: components['schemas']['FieldType'];
          /** @description The options of the index; null when it was made from a type alone. */
          params: components['schemas']['FieldParams'] | null;
          /** @description Points with at least one indexed value. */
          points: number;
        };
      };
    };
    /**
     * @description Which values of the field are indexed.
     * @enum {unknown}
     */
    FieldType: 'keyword' | 'integer' | 'float' | 'bool' | 'geo' | 'datetime' | 'text' | 'uuid';
    /** @description A type with its options. Only those of a text index change answers, none changes what an index can serve. */
    FieldParams:
      | {
          /**
           * @description Strings, compared whole.
           * @constant
           */
          type: 'keyword';
          /** @description Stored and shown, without effect. */
          is_tenant?: boolean | null;
          /** @description Stored and shown, without effect. Every keyword index serves prefixes. */
          prefix?: boolean | null;
          memory?: components['schemas']['Memory'];
          /** @description Stored and shown, without effect. */
          on_disk?: boolean | null;
          /** @description Stored and shown, without effect. */
          enable_hnsw?: boolean | null;
        }
      | {
          /**
           * @description Whole numbers of 64 bits.
           * @constant
           */
          type: 'integer';
          /**
           * @description Stored and shown, without effect. Every integer index serves `match`.
           * @default true
           */
          lookup?: boolean | null;
          /**
           * @description Stored and shown, without effect. Every integer index serves `range`.
           * @default true
           */
          range?: boolean | null;
          /** @description Stored and shown, without effect. */
          is_principal?: boolean | null;
          memory?: components['schemas']['Memory'];
          /** @description Stored and shown, without effect. */
          on_disk?: boolean | null;
          /** @description Stored and shown, without effect. */
          enable_hnsw?: boolean | null;
        }
      | {
          /**
           * @description Numbers of either form, or strings that are date-times.
           * @enum {unknown}
           */
          type: 'float' | 'datetime';
          /** @description Stored and shown, without effect. */
          is_principal?: boolean | null;
          memory?: components['schemas']['Memory'];
          /** @description Stored and shown, without effect. */
          on_disk?: boolean | null;
          /** @description Stored and shown, without effect. */
          enable_hnsw?: boolean | null;
        }
      | {
          /**
           * @description Booleans, or places on the globe.
           * @enum {unknown}
           */
          type: 'bool' | 'geo';
          memory?: components['schemas']['Memory'];
          /** @description Stored and shown, without effect. */
          on_disk?: boolean | null;
          /** @description Stored and shown, without effect. */
          enable_hnsw?: boolean | null;
        }
      | {
          /**
           * @description Strings that are UUIDs.
           * @constant
           */
          type: 'uuid';
          /** @description Stored and shown, without effect. */
          is_tenant?: boolean | null;
          memory?: components['schemas']['Memory'];
          /** @description Stored and shown, without effect. */
          on_disk?: boolean | null;
          /** @description Stored and shown, without effect. */
          enable_hnsw?: boolean | null;
        }
      | components['schemas']['TextIndexParams'];
    /** @description The words of strings, and how they are cut. */
    TextIndexParams: {
      /**
       * @description Always `text`.
       * @constant
       */
      type: 'text';
      /**
       * @description How a text is cut into words.
       * @default word
       * @enum {unknown}
       */
      tokenizer?: 'word' | 'whitespace' | 'prefix' | 'multilingual' | null;
      /** @description Shorter words are left out. */
      min_token_len?: number | null;
      /** @description Longer words are left out. */
      max_token_len?: number | null;
      /**
       * @description Whether words are compared in lower case.
       * @default true
       */
      lowercase?: boolean | null;
      /**
       * @description Whether letters with accents count as those without.
       * @default false
       */
      ascii_folding?: boolean | null;
      /**
       * @description Whether `phrase` is expected to be used. It works without it.
       * @default false
       */
      phrase_matching?: boolean | null;
      /** @description Words that are left out. */
      stopwords?: components['schemas']['StopWords'] | null;
      /** @description Reduces words to their stems. */
      stemmer?: components['schemas']['Stemmer'] | null;
      memory?: components['schemas']['Memory'];
      /** @description Stored and shown, without effect. */
      on_disk?: boolean | null;
      /** @description Stored and shown, without effect. */
      enable_hnsw?: boolean | null;
    };
    /** @description A language, or languages and words of one's own. */
    StopWords:
      | components['schemas']['StopWordLanguage']
      | {
          /** @description Languages whose stop words are left out. */
          languages?: components['schemas']['StopWordLanguage'][] | null;
          /** @description Further words that are left out. */
          custom?: string[] | null;
        };
    /** @description Reduces words to their stems. */
    Stemmer: {
      /**
       * @description Always `snowball`.
       * @constant
       */
      type: 'snowball';
      language: components['schemas']['StemmerLanguage'];
    };
    /**
     * @description A language with a list of stop words.
     * @enum {unknown}
     */
    StopWordLanguage:
      | 'arabic'
      | 'ar'
      | 'azerbaijani'
      | 'az'
      | 'basque'
      | 'eu'
      | 'bengali'
      | 'bn'
      | 'catalan'
      | 'ca'
      | 'chinese'
      | 'zh'
      | 'danish'
      | 'da'
      | 'dutch'
      | 'nl'
      | 'english'
      | 'en'
      | 'finnish'
      | 'fi'
      | 'french'
      | 'fr'
      | 'german'
      | 'de'
      | 'greek'
      | 'el'
      | 'hebrew'
      | 'he'
      | 'hinglish'
      | 'hi-en'
      | 'hungarian'
      | 'hu'
      | 'indonesian'
      | 'id'
      | 'italian'
      | 'it'
      | 'japanese'
      | 'ja'
      | 'kazakh'
      | 'kk'
      | 'nepali'
      | 'ne'
      | 'norwegian'
      | 'no'
      | 'portuguese'
      | 'pt'
      | 'romanian'
      | 'ro'
      | 'russian'
      | 'ru'
      | 'slovene'
      | 'sl'
      | 'spanish'
      | 'es'
      | 'swedish'
      | 'sv'
      | 'tajik'
      | 'tg'
      | 'turkish'
      | 'tr';
    /**
     * @description A language with a stemmer.
     * @enum {unknown}
     */
    StemmerLanguage:
      | 'arabic'
      | 'ar'
      | 'armenian'
      | 'hy'
      | 'danish'
      | 'da'
      | 'dutch'
      | 'nl'
      | 'english'
      | 'en'
      | 'finnish'
      | 'fi'
      | 'french'
      | 'fr'
      | 'german'
      | 'de'
      | 'greek'
      | 'el'
      | 'hungarian'
      | 'hu'
      | 'italian'
      | 'it'
      | 'norwegian'
      | 'no'
      | 'portuguese'
      | 'pt'
      | 'romanian'
      | 'ro'
      | 'russian'
      | 'ru'
      | 'spanish'
      | 'es'
      | 'swedish'
      | 'sv'
      | 'tamil'
      | 'ta'
      | 'turkish'
      | 'tr';
    /** @description A type alone, or a type with its options. */
    FieldSchema: components['schemas']['FieldType'] | components['schemas']['FieldParams'];
    /** @description A field, and how it is indexed. */
    CreateFieldIndex: {
      field_name: components['schemas']['Path'];
      field_schema?: components['schemas']['FieldSchema'];
      /** @deprecated */
      field_type?: components['schemas']['FieldSchema'];
    };
    /** @description Points with their vectors and payloads. */
    PointList: {
      id: components['schemas']['PointId'];
      vector?: components['schemas']['PointVectors'];
      /** @deprecated */
      vectors?: components['schemas']['PointVectors'];
      payload?: components['schemas']['Payload'] | null;
      if_version?: components['schemas']['ExpectedVersion'];
    }[];
    /** @description The version that the point must have, which is the `operation_id` of the write that changed it last; 0 for a point that must be absent. Otherwise the whole request is a 409. */
    ExpectedVersion: (number | bigint) | null;
    /** @description As many vectors, and payloads if there are any, as ids. */
    PointColumns: {
      /** @description The ids. */
      ids: components['schemas']['PointId'][];
      /** @description The vectors in the order of the ids, or such lists by name. */
      vectors:
        | components['schemas']['VectorColumn']
        | {
            [key: string]: components['schemas']['VectorColumn'] | null;
          };
      /** @description The payloads in the order of the ids; null for none. */
      payloads?: (components['schemas']['Payload'] | null)[] | null;
    };
    /** @description Vectors in the order of the ids. */
    VectorColumn: (
      | components['schemas']['DenseVector']
      | components['schemas']['MultiVector']
      | components['schemas']['SparseVector']
      | components['schemas']['TextInput']
    )[];
    /** @description Either `points` or `batch`. */
    UpsertPoints: {
      /** @description The points, one object each. */
      points?: components['schemas']['PointList'] | null;
      batch?: components['schemas']['PointColumns'] | null;
      /**
       * @description What happens to points that exist, and to those that do not. Those passed over are no error.
       * @default upsert
       * @enum {unknown}
       */
      update_mode?: 'upsert' | 'insert_only' | 'update_only' | null;
      model?: components['schemas']['NamedModels'];
      /** @description Points that exist and do not match keep their state. */
      update_filter?: components['schemas']['MaybeFilter'];
      shard_key?: components['schemas']['ShardKey'];
    };
    /** @description Ids of points. */
    PointIds: components['schemas']['PointId'][] | null;
    /** @description By id or by filter; the ids count when both are given. */
    SelectPoints: {
      points?: components['schemas']['PointIds'];
      filter?: components['schemas']['MaybeFilter'];
      shard_key?: components['schemas']['ShardKey'];
    };
    /** @description The points whose payloads become empty. */
    ClearPayload: {
      points?: components['schemas']['PointIds'];
      filter?: components['schemas']['MaybeFilter'];
      shard_key?: components['schemas']['ShardKey'];
      if_version?: components['schemas']['ExpectedVersions'];
    };
    /** @description The version that the points must have, one for all or an object from id to version; with `points` only. Otherwise the whole request is a 409. */
    ExpectedVersions:
      | components['schemas']['ExpectedVersion']
      | {
          [key: string]: number | bigint;
        };
    /** @description The vectors to replace. */
    UpdateVectors: {
      points?: components['schemas']['PointVectorList'];
      /** @deprecated */
      vectors?: components['schemas']['PointVectorList'];
      model?: components['schemas']['NamedModels'];
      update_filter?: components['schemas']['MaybeFilter'];
      shard_key?: components['schemas']['ShardKey'];
    };
    /** @description Points with the vectors that they get. */
    PointVectorList: {
      id: components['schemas']['PointId'];
      vector?: components['schemas']['PointVectors'];
      /** @deprecated */
      vectors?: components['schemas']['PointVectors'];
      if_version?: components['schemas']['ExpectedVersion'];
    }[];
    /** @description Names of vectors. */
    VectorNames: components['schemas']['VectorName'][];
    /** @description The vectors to remove, and from which points. */
    DeleteVectors: {
      points?: components['schemas']['PointIds'];
      filter?: components['schemas']['MaybeFilter'];
      shard_key?: components['schemas']['ShardKey'];
      vector?: components['schemas']['VectorNames'];
      /** @deprecated */
      vectors?: components['schemas']['VectorNames'];
    };
    /** @description The payload, and which points get it. */
    SetPayload: {
      points?: components['schemas']['PointIds'];
      filter?: components['schemas']['MaybeFilter'];
      shard_key?: components['schemas']['ShardKey'];
      if_version?: components['schemas']['ExpectedVersions'];
      payload: components['schemas']['Payload'];
      key?: components['schemas']['Path'] | null;
    };
    /** @description The paths to remove, and from which points. */
    DeletePayload: {
      points?: components['schemas']['PointIds'];
      filter?: components['schemas']['MaybeFilter'];
      shard_key?: components['schemas']['ShardKey'];
      if_version?: components['schemas']['ExpectedVersions'];
      /** @description Paths into the payload. */
      keys: components['schemas']['Path'][];
    };
    /** @description Changes that are made together. */
    BatchUpdate: {
      /** @description The changes in their order; a later one sees what an earlier one did. */
      operations: components['schemas']['UpdateOperation'][];
    };
    /** @description Each holds the body of the endpoint that it stands for. */
    UpdateOperation:
      | {
          upsert: components['schemas']['UpsertPoints'];
        }
      | {
          delete: components['schemas']['SelectPoints'];
        }
      | {
          set_payload: components['schemas']['SetPayload'];
        }
      | {
          overwrite_payload: components['schemas']['SetPayload'];
        }
      | {
          delete_payload: components['schemas']['DeletePayload'];
        }
      | {
          clear_payload: components['schemas']['ClearPayload'];
        }
      | {
          update_vectors: components['schemas']['UpdateVectors'];
        }
      | {
          delete_vectors: components['schemas']['DeleteVectors'];
        };
    /** @description Which points the source owns: all that match and are not in the source are deleted. It has conditions, unless `all` says that it is meant to match every point. */
    SyncScope: components['schemas']['Filter'];
    /** @description The path in payloads of the hash of a point's content, a string of at most 256 bytes or an integer. */
    HashKey: string;
    /** @description What the payload has at `hash_key`. */
    ContentHash: string | number;
    /** @description The revision that the scope must have, of a plan or of the last sync. Otherwise the request is a 409. */
    SyncRevision: string | null;
    /** @description The source: points with content, at most 10,000 a request, and points that are given by their hash. Of an id that is named twice the last counts. */
    SyncPointList: (components['schemas']['SyncContent'] | components['schemas']['SyncHash'])[];
    /** @description A point with its content, which has a vector. Its payload has the hash, and matches the scope. */
    SyncContent: {
      id: components['schemas']['PointId'];
      vector?: components['schemas']['PointVectors'];
      /** @deprecated */
      vectors?: components['schemas']['PointVectors'];
      payload: components['schemas']['Payload'];
    };
    /** @description A point that is to be left alone. Where it is new or changed the request is a 409 that names it. */
    SyncHash: {
      id: components['schemas']['PointId'];
      hash: components['schemas']['ContentHash'];
    };
    /** @description A whole source. */
    SyncSource: {
      scope: components['schemas']['SyncScope'];
      /** @description Whether the scope is every point. Goes with an empty `scope`. */
      all?: boolean | null;
      hash_key: components['schemas']['HashKey'];
      points: components['schemas']['SyncPointList'];
      model?: components['schemas']['NamedModels'];
      if_revision?: components['schemas']['SyncRevision'];
    };
    /** @description A part of a source. Parts of one `sync_id` have the same scope and key. They are kept for ten minutes after the last one, and not over a restart. */
    SyncPart: {
      /** @description What the parts have in common; of its credential and its collection alone. */
      sync_id: string;
      /** @description Whether this part is the last and applies all. */
      last?: boolean | null;
      /** @description Of the last part, the `staged` of the answer before. Where a part did not arrive it differs, and the request is a 409. */
      staged?: number | null;
      scope: components['schemas']['SyncScope'];
      /** @description Whether the scope is every point. Goes with an empty `scope`. */
      all?: boolean | null;
      hash_key: components['schemas']['HashKey'];
      points: components['schemas']['SyncPointList'];
      model?: components['schemas']['NamedModels'];
      /** @description Of the last part. */
      if_revision?: components['schemas']['SyncRevision'];
    };
    /** @description A source, or a part of one. */
    SyncPoints: components['schemas']['SyncSource'] | components['schemas']['SyncPart'];
    /** @description A source, given by its hashes. */
    PlanSync: {
      scope: components['schemas']['SyncScope'];
      /** @description Whether the scope is every point. Goes with an empty `scope`. */
      all?: boolean | null;
      hash_key: components['schemas']['HashKey'];
      /** @description The points of the source. */
      points: components['schemas']['SyncHash'][];
    };
    /** @description What a sync did. */
    SyncResult: {
      /** @description Points that were not there. */
      added: number;
      /** @description Points that had another hash. */
      updated: number;
      /** @description Points that were left alone. */
      unchanged: number;
      /** @description Points of the scope that are none of the source. */
      deleted: number;
      /** @description Of the scope from now on; any write to its points makes it another. */
      revision: string;
    };
    /** @description What is staged of a source. */
    StagedPoints: {
      /** @description Points so far, of all parts. */
      staged: number;
    };
    /** @description What a sync would need and do. */
    SyncPlan: {
      /** @description Points that are new or changed, in the order of the request. */
      needed: components['schemas']['PointId'][];
      /** @description Points that would be left alone. */
      unchanged: number;
      /** @description Points that would be deleted. */
      deleted: number;
      /** @description Of the scope, for `if_revision` of the sync. */
      revision: string;
    };
    /** @description How far a change has come. */
    UpdateResult: {
      /** @description Grows with every change of the collection. */
      operation_id: number;
      /**
       * @description `completed` when the next read sees it, `acknowledged` when it is durable and will be seen.
       * @enum {unknown}
       */
      status: 'completed' | 'acknowledged';
      skipped?: components['schemas']['SkippedPoints'];
    };
    /** @description Points that `update_mode` or `update_filter` left as they were. Absent where there are none. */
    SkippedPoints: {
      /** @description How many. */
      count: number;
      /** @description The first 1,000 of them, in the order of the request. */
      ids: components['schemas']['PointId'][];
    };
    /** @description All of `must`, at least one of `should`, none of `must_not`. An empty filter matches everything. */
    Filter: {
      must?: components['schemas']['Conditions'];
      should?: components['schemas']['Conditions'];
      must_not?: components['schemas']['Conditions'];
      /** @description At least some of several conditions. */
      min_should?: {
        /** @description The conditions of which some must hold. */
        conditions: components['schemas']['Condition'] | components['schemas']['Condition'][];
        /** @description How many of them must hold. */
        min_count: number;
      } | null;
    };
    /** @description A filter; null for none. */
    MaybeFilter: components['schemas']['Filter'] | null;
    /** @description One condition or a list of them. */
    Conditions: components['schemas']['Condition'] | components['schemas']['Condition'][] | null;
    /** @description A condition on a field, on the id or on the vectors, or a filter. */
    Condition:
      | components['schemas']['FieldCondition']
      | {
          is_empty: components['schemas']['KeyObject'];
        }
      | {
          is_null: components['schemas']['KeyObject'];
        }
      | {
          /** @description The ids of which the point has one. */
          has_id: components['schemas']['PointId'][];
        }
      | {
          has_vector: components['schemas']['VectorName'];
        }
      | {
          /** @description One of `total` disjoint parts of all ids: those whose SipHash-2-4 leaves the remainder `index`. */
          slice: {
            /** @description How many slices there are. */
            total: number;
            /** @description Which of them; less than `total`. */
            index: number;
          };
        }
      | {
          /** @description Some element of the array satisfies the whole filter, whose keys are relative to it. */
          nested: {
            key: components['schemas']['Path'];
            filter: components['schemas']['Filter'];
          };
        }
      | components['schemas']['Filter'];
    /** @description Names a field by its path. */
    KeyObject: {
      key: components['schemas']['Path'];
    };
    /** @description Holds when any of its clauses holds for a value at `key`, or for any element of an array there. */
    FieldCondition: {
      key: components['schemas']['Path'];
      match?: components['schemas']['Match'];
      range?: components['schemas']['Range'];
      /** @description Holds for a place within the box. */
      geo_bounding_box?: {
        top_left: components['schemas']['GeoPoint'];
        bottom_right: components['schemas']['GeoPoint'];
      } | null;
      /** @description Holds for a place within a distance of the centre. */
      geo_radius?: {
        center: components['schemas']['GeoPoint'];
        /** @description In metres. */
        radius: number;
      } | null;
      /** @description Holds for a place within the outer ring and outside the inner ones. */
      geo_polygon?: {
        exterior: components['schemas']['Ring'];
        /** @description Rings that are cut out. */
        interiors?: components['schemas']['Ring'][] | null;
      } | null;
      /** @description Bounds on how many values the field has. */
      values_count?: {
        /** @description More than this. */
        gt?: number | null;
        /** @description This or more. */
        gte?: number | null;
        /** @description Fewer than this. */
        lt?: number | null;
        /** @description This or fewer. */
        lte?: number | null;
      } | null;
      /** @description Whether the field is absent, null or an empty list. */
      is_empty?: boolean | null;
      /** @description Whether the field is null. */
      is_null?: boolean | null;
    };
    /** @description Equality with a value, or the words of a text. */
    Match:
      | {
          value: components['schemas']['MatchValue'];
        }
      | {
          any: components['schemas']['MatchList'];
        }
      | {
          except: components['schemas']['MatchList'];
        }
      | {
          /** @description The string begins so. */
          prefix: string;
        }
      | {
          /** @description The string contains this. */
          substring: string;
        }
      | {
          /** @description Every word of this text occurs. */
          text: string;
        }
      | {
          /** @description Some word of this text occurs. */
          text_any: string;
        }
      | {
          /** @description The words of this text occur in a row. */
          phrase: string;
        }
      | null;
    /** @description A string, a boolean or an integer of 64 bits. */
    MatchValue: (string | boolean) | (number | bigint);
    /** @description All strings or all integers. */
    MatchList: string[] | (number | bigint)[];
    /** @description Bounds that are all numbers, or all RFC 3339 date-times. */
    Range:
      | ({
          /** @description Above this number. */
          gt?: number | null;
          /** @description This number or above. */
          gte?: number | null;
          /** @description Below this number. */
          lt?: number | null;
          /** @description This number or below. */
          lte?: number | null;
        } | null)
      | {
          /** @description After this date-time. */
          gt?: string | null;
          /** @description At this date-time or after. */
          gte?: string | null;
          /** @description Before this date-time. */
          lt?: string | null;
          /** @description At this date-time or before. */
          lte?: string | null;
        };
    /** @description A place on the globe. */
    GeoPoint: {
      /** @description Degrees of longitude. */
      lon: number;
      /** @description Degrees of latitude. */
      lat: number;
    };
    /** @description A closed line; the last point is the first. */
    Ring: {
      /** @description The corners in their order. */
      points: components['schemas']['GeoPoint'][];
    };
    /** @description What of the payload is answered. True for retrieve and scroll, false for search and query. */
    WithPayload:
      | (boolean | null)
      | components['schemas']['Paths']
      | {
          include: components['schemas']['Paths'];
          /** @description Absent or null beside `include`. */
          exclude?: null;
        }
      | {
          exclude: components['schemas']['Paths'];
          /** @description Absent or null beside `exclude`. */
          include?: null;
        };
    /** @description Paths into the payload. */
    Paths: components['schemas']['Path'][];
    /** @description Which vectors are answered. */
    WithVector: (boolean | null) | components['schemas']['VectorName'][];
    /** @description How the search is done. */
    SearchParams: {
      /** @description Width of the walk through the graph. */
      hnsw_ef?: number | null;
      /** @description Recall that the width of the walk is chosen for; not together with `hnsw_ef`. */
      target_recall?: number | null;
      /**
       * @description Compare with every vector.
       * @default false
       */
      exact?: boolean | null;
      /**
       * @description Leave out vectors that are not in the graph yet.
       * @default false
       */
      indexed_only?: boolean | null;
      /** @description How codes are used. */
      quantization?: {
        /**
         * @description Walk over the originals instead of the codes.
         * @default false
         */
        ignore?: boolean | null;
        /**
         * @description Rank the candidates by their originals.
         * @default true
         */
        rescore?: boolean | null;
        /** @description At least this many times `limit` candidates are ranked by their originals. */
        oversampling?: number | null;
      } | null;
      /** @description Which points weigh the query of a sparse vector with the modifier `idf`; with another vector it is refused. */
      idf?:
        | ('global' | null)
        | {
            corpus: components['schemas']['Filter'];
          };
      /** @description Without effect; the planner decides. */
      acorn?: {
        /** @description Without effect. */
        enable?: boolean | null;
        /** @description Without effect. */
        max_selectivity?: number | null;
      } | null;
      /**
       * @description Adds `explain` to the envelope. Of a whole search or query, not of a prefetch.
       * @default false
       */
      explain?: boolean | null;
      /** @description With `explain`, points of which the explanation says why they were, or were not, returned. An absent one is a 404. */
      why?: components['schemas']['PointId'][] | null;
    } | null;
    /** @description What a search did. The figures of a query with prefetches are the sums of those of its steps. */
    Explanation: {
      /**
       * @description What was done. With prefetches, how what they have found became one list.
       * @enum {unknown}
       */
      plan:
        | 'walk'
        | 'filtered_walk'
        | 'scan'
        | 'exact'
        | 'order_by'
        | 'sample'
        | 'by_id'
        | 'fusion'
        | 'formula'
        | 'rescoring';
      /** @description Why; one sentence. */
      reason: string;
      /** @description Width of a walk; absent where there can be none. */
      ef?: number;
      /** @description Recall that the width was chosen for; absent where it was given. */
      target_recall?: number;
      /**
       * @description What has chosen the width for a target recall.
       * @enum {unknown}
       */
      ef_chosen_by?: 'calibration' | 'formula';
      /** @description How many points were taken to match when it was planned; null where nothing is planned. */
      estimated_matches: number | null;
      /** @description How many points match the filter. */
      matches: number;
      /** @description Nodes of the graph whose links were followed. */
      hops: number;
      /** @description Vectors that a walk compared, or an exact search with each example. */
      distances: number;
      /** @description Vectors that scans of codes compared. */
      scanned: number;
      /** @description Vectors that were compared again by their originals. */
      reranked: number;
      /** @description Vectors that were compared because they are not in the graph yet. */
      tail_scanned: number;
      /** @description Keys of the filter that a field index answers. */
      indexes_used: string[];
      /** @description Keys of the filter for which points are read because there is no index that would answer. */
      indexes_missing: string[];
      /** @description Those of `indexes_used` that the server made by itself; absent where there is none. */
      auto_indexes_used?: string[];
      /** @description Microseconds by part: `queue`, `parse`, `plan`, `search`, `rerank`, `payloads`, `write`. */
      time_us: {
        [key: string]: number;
      };
      /** @description The prefetches that search the collection, from left to right; absent where there is none. */
      steps?: {
        /** @description Which one: `prefetch[0]`. */
        source: string;
        /**
         * @description What was done. With prefetches, how what they have found became one list.
         * @enum {unknown}
         */
        plan:
          | 'walk'
          | 'filtered_walk'
          | 'scan'
          | 'exact'
          | 'order_by'
          | 'sample'
          | 'by_id'
          | 'fusion'
          | 'formula'
          | 'rescoring';
        /** @description Why; one sentence. */
        reason: string;
        /** @description Width of a walk; absent where there can be none. */
        ef?: number;
        /** @description Recall that the width was chosen for; absent where it was given. */
        target_recall?: number;
        /**
         * @description What has chosen the width for a target recall.
         * @enum {unknown}
         */
        ef_chosen_by?: 'calibration' | 'formula';
        /** @description How many points were taken to match when it was planned; null where nothing is planned. */
        estimated_matches: number | null;
        /** @description How many points match the filter. */
        matches: number;
        /** @description Nodes of the graph whose links were followed. */
        hops: number;
        /** @description Vectors that a walk compared, or an exact search with each example. */
        distances: number;
        /** @description Vectors that scans of codes compared. */
        scanned: number;
        /** @description Vectors that were compared again by their originals. */
        reranked: number;
        /** @description Vectors that were compared because they are not in the graph yet. */
        tail_scanned: number;
        /** @description Keys of the filter that a field index answers. */
        indexes_used: string[];
        /** @description Keys of the filter for which points are read because there is no index that would answer. */
        indexes_missing: string[];
        /** @description Those of `indexes_used` that the server made by itself; absent where there is none. */
        auto_indexes_used?: string[];
        /** @description Microseconds by part: `plan`, `search`, `rerank`. */
        time_us: {
          [key: string]: number;
        };
      }[];
      /** @description How the score of each hit came about, in the order of the hits. */
      hits: {
        /** @description The contributions add up to the score. */
        score_details: {
          /** @description `query`, `prefetch[0]`, or the place of a term of a formula. */
          source: string;
          /** @description The vector that was compared. */
          using: string | null;
          /** @description Place in what the source found. */
          rank: number | null;
          /** @description The score by the source. */
          raw: number;
          /** @description What it adds to the score. */
          contribution: number;
        }[];
      }[];
      /** @description What became of the points that `params.why` names; absent without it. */
      why?: {
        id: components['schemas']['PointId'];
        /** @description Whether it is among the hits. */
        returned: boolean;
        /** @description Its score, compared exactly. */
        score: number | null;
        /** @description Its place among all that match, compared exactly; where it would be, if it does not. */
        rank: number | null;
        /** @description The place of the first condition that it fails. */
        failed_condition: string | null;
        /**
         * @description The first reason that applies; null for a point that was returned.
         * @enum {unknown}
         */
        lost_by: 'no_vector' | 'filter' | 'threshold' | 'rank' | 'codes' | 'walk' | null;
      }[];
    };
    /**
     * @description With `offset` at most 100000.
     * @default 10
     */
    Limit: number | null;
    /**
     * @description How many of the first hits are left out.
     * @default 0
     */
    Offset: number | null;
    /** @description Only scores that are equal or better, in the direction of the distance. */
    ScoreThreshold: components['schemas']['Float32'] | null;
    /** @description Which points are read, and what of them. */
    RetrievePoints: {
      /** @description The ids in the order of the answer. */
      ids: components['schemas']['PointId'][];
      with_payload?: components['schemas']['WithPayload'];
      with_vector?: components['schemas']['WithVector'];
      /** @deprecated */
      with_vectors?: components['schemas']['WithVector'];
      shard_key?: components['schemas']['ShardKey'];
    };
    /** @description A vector, and what is wanted of the points near it. */
    SearchRequest: {
      /** @description The vector to search with; in an object with its name where it is not the unnamed one. */
      vector:
        | components['schemas']['DenseVector']
        | {
            name: components['schemas']['VectorName'];
            /** @description The vector to search with. */
            vector:
              | components['schemas']['DenseVector']
              | components['schemas']['SparseVector']
              | components['schemas']['TextInput'];
          };
      filter?: components['schemas']['MaybeFilter'];
      params?: components['schemas']['SearchParams'];
      score_threshold?: components['schemas']['ScoreThreshold'];
      model?: components['schemas']['NamedModels'];
      limit?: components['schemas']['Limit'];
      /** @deprecated */
      top?: components['schemas']['Limit'];
      offset?: components['schemas']['Offset'];
      with_payload?: components['schemas']['WithPayload'];
      with_vector?: components['schemas']['WithVector'];
      /** @deprecated */
      with_vectors?: components['schemas']['WithVector'];
      shard_key?: components['schemas']['ShardKey'];
    };
    /** @description A search that may have further pages. */
    PagedSearchRequest: {
      /** @description The vector to search with; in an object with its name where it is not the unnamed one. */
      vector:
        | components['schemas']['DenseVector']
        | {
            name: components['schemas']['VectorName'];
            /** @description The vector to search with. */
            vector:
              | components['schemas']['DenseVector']
              | components['schemas']['SparseVector']
              | components['schemas']['TextInput'];
          };
      filter?: components['schemas']['MaybeFilter'];
      params?: components['schemas']['SearchParams'];
      score_threshold?: components['schemas']['ScoreThreshold'];
      model?: components['schemas']['NamedModels'];
      limit?: components['schemas']['Limit'];
      /** @deprecated */
      top?: components['schemas']['Limit'];
      offset?: components['schemas']['Offset'];
      with_payload?: components['schemas']['WithPayload'];
      with_vector?: components['schemas']['WithVector'];
      /** @deprecated */
      with_vectors?: components['schemas']['WithVector'];
      shard_key?: components['schemas']['ShardKey'];
      cursor?: components['schemas']['CursorRequest'];
    };
    /** @description Asks for further pages of the same view. */
    CursorRequest: {
      /** @description Seconds that the cursor lives after each page. */
      ttl: number;
    } | null;
    /** @description A further page of a read that has a cursor. There is nothing beside it. */
    NextPage: {
      /** @description `next_cursor` of the page before. */
      cursor: string;
    };
    /** @description Several searches. */
    SearchBatch: {
      /** @description The searches in the order of the answer. */
      searches: components['schemas']['SearchRequest'][];
    };
    /** @description A field to order by, alone or with options. */
    OrderBy:
      | components['schemas']['Path']
      | {
          key: components['schemas']['Path'];
          /**
           * @description Ascending or descending.
           * @default asc
           * @enum {unknown}
           */
          direction?: 'asc' | 'desc' | null;
          /** @description The first value of the page, a number or an RFC 3339 date-time. */
          start_from?: number | string | null;
        };
    /** @description Which points are read, and from where on. */
    ScrollRequest: {
      filter?: components['schemas']['MaybeFilter'];
      /**
       * @description Beyond 100000 a page by id has 100000 points, and the offset of the next page; with `order_by` it is refused.
       * @default 10
       */
      limit?: number | null;
      /** @description The first id of the page. Not together with `order_by`. */
      offset?: components['schemas']['PointId'] | null;
      /** @description Orders by a field instead of the id. */
      order_by?: components['schemas']['OrderBy'] | null;
      with_payload?: components['schemas']['WithPayload'];
      with_vector?: components['schemas']['WithVector'];
      /** @deprecated */
      with_vectors?: components['schemas']['WithVector'];
      cursor?: components['schemas']['CursorRequest'];
      shard_key?: components['schemas']['ShardKey'];
    };
    /** @description Which points are counted. */
    CountRequest: {
      filter?: components['schemas']['MaybeFilter'];
      /**
       * @description Accepted; counts are always exact.
       * @default true
       */
      exact?: boolean | null;
      shard_key?: components['schemas']['ShardKey'];
    };
    /** @description A universal query. */
    QueryRequest: {
      /** @description What is ranked by; absent, points are read by id, or the hits of the prefetch are answered. */
      query?: components['schemas']['Query'] | null;
      /** @description Queries whose hits this one ranks anew or merges. */
      prefetch?: components['schemas']['Prefetch'] | components['schemas']['Prefetch'][] | null;
      /** @description The vector's name; the unnamed one when absent. */
      using?: string | null;
      filter?: components['schemas']['MaybeFilter'];
      params?: components['schemas']['SearchParams'];
      score_threshold?: components['schemas']['ScoreThreshold'];
      model?: components['schemas']['NamedModels'];
      limit?: components['schemas']['Limit'];
      offset?: components['schemas']['Offset'];
      with_payload?: components['schemas']['WithPayload'];
      with_vector?: components['schemas']['WithVector'];
      /** @deprecated */
      with_vectors?: components['schemas']['WithVector'];
      lookup_from?: components['schemas']['LookupFrom'];
      shard_key?: components['schemas']['ShardKey'];
    };
    /** @description A query that may have further pages. */
    PagedQueryRequest: {
      /** @description What is ranked by; absent, points are read by id, or the hits of the prefetch are answered. */
      query?: components['schemas']['Query'] | null;
      /** @description Queries whose hits this one ranks anew or merges. */
      prefetch?: components['schemas']['Prefetch'] | components['schemas']['Prefetch'][] | null;
      /** @description The vector's name; the unnamed one when absent. */
      using?: string | null;
      filter?: components['schemas']['MaybeFilter'];
      params?: components['schemas']['SearchParams'];
      score_threshold?: components['schemas']['ScoreThreshold'];
      model?: components['schemas']['NamedModels'];
      limit?: components['schemas']['Limit'];
      offset?: components['schemas']['Offset'];
      with_payload?: components['schemas']['WithPayload'];
      with_vector?: components['schemas']['WithVector'];
      /** @deprecated */
      with_vectors?: components['schemas']['WithVector'];
      lookup_from?: components['schemas']['LookupFrom'];
      shard_key?: components['schemas']['ShardKey'];
      cursor?: components['schemas']['CursorRequest'];
    };
    /** @description Several queries. */
    QueryBatch: {
      /** @description The queries in the order of the answer. */
      searches: components['schemas']['QueryRequest'][];
    };
    /** @description Nested at most 64 deep, and 64 in one query. The outer filter holds in it, too. */
    Prefetch: {
      /** @description What is ranked by. */
      query?: components['schemas']['Query'] | null;
      /** @description Queries whose hits this one ranks anew or merges. */
      prefetch?: components['schemas']['Prefetch'] | components['schemas']['Prefetch'][] | null;
      /** @description The vector's name; the unnamed one when absent. */
      using?: string | null;
      filter?: components['schemas']['MaybeFilter'];
      params?: components['schemas']['SearchParams'];
      score_threshold?: components['schemas']['ScoreThreshold'];
      model?: components['schemas']['NamedModels'];
      limit?: components['schemas']['Limit'];
      lookup_from?: components['schemas']['LookupFrom'];
      shard_key?: components['schemas']['ShardKey'];
    };
    /** @description Examples to be like, and to be unlike. */
    RecommendRequest: {
      /** @description Examples that are wanted. */
      positive?: components['schemas']['VectorInputs'];
      /** @description Examples that are not wanted. */
      negative?: components['schemas']['VectorInputs'];
      /**
       * @description How the examples are combined.
       * @default average_vector
       * @enum {unknown}
       */
      strategy?: 'average_vector' | 'best_score' | 'sum_scores' | null;
      /** @description The vector's name; the unnamed one when absent. */
      using?: string | null;
      filter?: components['schemas']['MaybeFilter'];
      params?: components['schemas']['SearchParams'];
      score_threshold?: components['schemas']['ScoreThreshold'];
      model?: components['schemas']['NamedModels'];
      limit?: components['schemas']['Limit'];
      /** @deprecated */
      top?: components['schemas']['Limit'];
      offset?: components['schemas']['Offset'];
      with_payload?: components['schemas']['WithPayload'];
      with_vector?: components['schemas']['WithVector'];
      /** @deprecated */
      with_vectors?: components['schemas']['WithVector'];
      lookup_from?: components['schemas']['LookupFrom'];
      shard_key?: components['schemas']['ShardKey'];
    };
    /** @description Several recommendations. */
    RecommendBatch: {
      /** @description The recommendations in the order of the answer. */
      searches: components['schemas']['RecommendRequest'][];
    };
    /** @description A target, a context, or both. */
    DiscoverRequest: {
      /** @description What to be near. */
      target?: components['schemas']['VectorInput'] | null;
      /** @description Pairs that say on which side a point should be. */
      context?: components['schemas']['ContextPair'] | components['schemas']['ContextPair'][] | null;
      /** @description The vector's name; the unnamed one when absent. */
      using?: string | null;
      filter?: components['schemas']['MaybeFilter'];
      params?: components['schemas']['SearchParams'];
      score_threshold?: components['schemas']['ScoreThreshold'];
      model?: components['schemas']['NamedModels'];
      limit?: components['schemas']['Limit'];
      /** @deprecated */
      top?: components['schemas']['Limit'];
      offset?: components['schemas']['Offset'];
      with_payload?: components['schemas']['WithPayload'];
      with_vector?: components['schemas']['WithVector'];
      /** @deprecated */
      with_vectors?: components['schemas']['WithVector'];
      lookup_from?: components['schemas']['LookupFrom'];
      shard_key?: components['schemas']['ShardKey'];
    };
    /** @description Several discoveries. */
    DiscoverBatch: {
      /** @description The discoveries in the order of the answer. */
      searches: components['schemas']['DiscoverRequest'][];
    };
    /** @description A search whose hits are grouped by a field. */
    SearchGroupsRequest: {
      /** @description The vector to search with; in an object with its name where it is not the unnamed one. */
      vector:
        | components['schemas']['DenseVector']
        | {
            name: components['schemas']['VectorName'];
            /** @description The vector to search with. */
            vector:
              | components['schemas']['DenseVector']
              | components['schemas']['SparseVector']
              | components['schemas']['TextInput'];
          };
      filter?: components['schemas']['MaybeFilter'];
      params?: components['schemas']['SearchParams'];
      score_threshold?: components['schemas']['ScoreThreshold'];
      /** @description The field of the payload. */
      group_by: components['schemas']['Path'];
      /**
       * @description Hits of a group; with `limit` multiplied at most 100000.
       * @default 3
       */
      group_size?: number | null;
      /**
       * @description How many groups.
       * @default 10
       */
      limit?: number | null;
      /** @description A collection whose points have the ids of the groups, and what is shown of them beside the groups. */
      with_lookup?: string | components['schemas']['GroupLookup'] | null;
      with_payload?: components['schemas']['WithPayload'];
      with_vector?: components['schemas']['WithVector'];
      /** @deprecated */
      with_vectors?: components['schemas']['WithVector'];
      model?: components['schemas']['NamedModels'];
      shard_key?: components['schemas']['ShardKey'];
    };
    /** @description A universal query whose hits are grouped by a field. */
    QueryGroupsRequest: {
      /** @description What is ranked by; absent, points are read by id, or the hits of the prefetch are answered. */
      query?: components['schemas']['Query'] | null;
      /** @description Queries whose hits this one ranks anew or merges. */
      prefetch?: components['schemas']['Prefetch'] | components['schemas']['Prefetch'][] | null;
      /** @description The vector's name; the unnamed one when absent. */
      using?: string | null;
      filter?: components['schemas']['MaybeFilter'];
      params?: components['schemas']['SearchParams'];
      score_threshold?: components['schemas']['ScoreThreshold'];
      /** @description The field of the payload. */
      group_by: components['schemas']['Path'];
      /**
       * @description Hits of a group; with `limit` multiplied at most 100000.
       * @default 3
       */
      group_size?: number | null;
      /**
       * @description How many groups.
       * @default 10
       */
      limit?: number | null;
      /** @description A collection whose points have the ids of the groups, and what is shown of them beside the groups. */
      with_lookup?: string | components['schemas']['GroupLookup'] | null;
      with_payload?: components['schemas']['WithPayload'];
      with_vector?: components['schemas']['WithVector'];
      /** @deprecated */
      with_vectors?: components['schemas']['WithVector'];
      lookup_from?: components['schemas']['LookupFrom'];
      model?: components['schemas']['NamedModels'];
      shard_key?: components['schemas']['ShardKey'];
    };
    /** @description A recommendation whose hits are grouped by a field. */
    RecommendGroupsRequest: {
      /** @description Examples that are wanted. */
      positive?: components['schemas']['VectorInputs'];
      /** @description Examples that are not wanted. */
      negative?: components['schemas']['VectorInputs'];
      /**
       * @description How the examples are combined.
       * @default average_vector
       * @enum {unknown}
       */
      strategy?: 'average_vector' | 'best_score' | 'sum_scores' | null;
      /** @description The vector's name; the unnamed one when absent. */
      using?: string | null;
      filter?: components['schemas']['MaybeFilter'];
      params?: components['schemas']['SearchParams'];
      score_threshold?: components['schemas']['ScoreThreshold'];
      /** @description The field of the payload. */
      group_by: components['schemas']['Path'];
      /**
       * @description Hits of a group; with `limit` multiplied at most 100000.
       * @default 3
       */
      group_size?: number | null;
      /**
       * @description How many groups.
       * @default 10
       */
      limit?: number | null;
      /** @description A collection whose points have the ids of the groups, and what is shown of them beside the groups. */
      with_lookup?: string | components['schemas']['GroupLookup'] | null;
      with_payload?: components['schemas']['WithPayload'];
      with_vector?: components['schemas']['WithVector'];
      /** @deprecated */
      with_vectors?: components['schemas']['WithVector'];
      lookup_from?: components['schemas']['LookupFrom'];
      model?: components['schemas']['NamedModels'];
      shard_key?: components['schemas']['ShardKey'];
    };
    /** @description Which points are shown beside groups, and what of them. */
    GroupLookup: {
      /** @description The collection that has the points. */
      collection: string;
      with_payload?: components['schemas']['WithPayload'];
      with_vector?: components['schemas']['WithVector'];
      /** @deprecated */
      with_vectors?: components['schemas']['WithVector'];
    };
    /** @description Changes of aliases. */
    ChangeAliases: {
      /** @description What is done, in this order. */
      actions: components['schemas']['AliasAction'][];
    };
    /** @description One change of aliases. */
    AliasAction:
      | {
          /** @description Makes an alias, or lets an existing one mean another collection. */
          create_alias: {
            alias_name: components['schemas']['CollectionName'];
            /** @description The collection; not an alias of it. */
            collection_name: string;
          };
        }
      | {
          /** @description Removes an alias, if there is one. */
          delete_alias: {
            /** @description The alias. */
            alias_name: string;
          };
        }
      | {
          /** @description Gives an alias another name. An alias that had that name is replaced. */
          rename_alias: {
            /** @description The alias. */
            old_alias_name: string;
            new_alias_name: components['schemas']['CollectionName'];
          };
        };
    /** @description Which values are counted. */
    FacetRequest: {
      key: components['schemas']['Path'];
      /**
       * @description Values of the answer.
       * @default 10
       */
      limit?: number | null;
      filter?: components['schemas']['MaybeFilter'];
      /** @description Every facet is exact. */
      exact?: boolean | null;
      shard_key?: components['schemas']['ShardKey'];
    };
    /** @description The sample, and with how many others each point of it is paired. */
    MatrixRequest: {
      filter?: components['schemas']['MaybeFilter'];
      /**
       * @description Points of the sample.
       * @default 10
       */
      sample?: number | null;
      /**
       * @description Others for each of them.
       * @default 3
       */
      limit?: number | null;
      /** @description The vector's name; the unnamed one when absent. */
      using?: string | null;
      shard_key?: components['schemas']['ShardKey'];
    };
    /** @description The sample, and how its vectors become places of a plane. */
    ProjectionRequest: {
      filter?: components['schemas']['MaybeFilter'];
      /**
       * @description Points of the sample.
       * @default 10000
       */
      sample?: number | null;
      /** @description The name of a dense vector or of a multi-vector, of which the mean counts; the unnamed one when absent. */
      using?: string | null;
      /**
       * @description By the two principal components, or by the layout of UMAP, which begins at those.
       * @default umap
       * @enum {string|null}
       */
      method?: 'pca' | 'umap' | null;
      /**
       * @description Neighbours of a point that UMAP keeps near it.
       * @default 15
       */
      neighbors?: number | null;
      /**
       * @description What the sample and the layout follow from: the same seed gives the same answer for the same data.
       * @default 0
       */
      seed?: number | null;
    };
    /** @description Where the vectors of ids are looked up. */
    LookupFrom: {
      /** @description The collection that has the points. */
      collection: string;
      /** @description The vector's name there; that of `using` when absent. */
      vector?: string | null;
      shard_key?: components['schemas']['ShardKey'];
    } | null;
    /** @description What the points are ranked by. */
    Query:
      | components['schemas']['VectorInput']
      | components['schemas']['NearestQuery']
      | components['schemas']['RecommendQuery']
      | components['schemas']['DiscoverQuery']
      | components['schemas']['ContextQuery']
      | components['schemas']['OrderByQuery']
      | components['schemas']['FusionQuery']
      | components['schemas']['RrfQuery']
      | components['schemas']['FormulaQuery']
      | components['schemas']['SampleQuery']
      | components['schemas']['RelevanceFeedbackQuery'];
    /** @description A vector, or the id of a point, which is left out of the result. */
    VectorInput:
      | components['schemas']['DenseVector']
      | components['schemas']['MultiVector']
      | components['schemas']['SparseVector']
      | components['schemas']['TextInput']
      | components['schemas']['PointId'];
    /** @description Vectors, or ids of points. */
    VectorInputs: components['schemas']['VectorInput'][] | null;
    /** @description Ranks by the distance to a vector. */
    NearestQuery: {
      nearest: components['schemas']['VectorInput'];
      /** @description Among the nearest, prefers those that are unlike the ones chosen already. */
      mmr?: {
        /**
         * @description 0 for nearness alone, 1 for unlikeness alone.
         * @default 0.5
         */
        diversity?: number | null;
        /** @description How many of the nearest are considered. */
        candidates_limit?: number | null;
      } | null;
    };
    /** @description Ranks by examples that are wanted and examples that are not. */
    RecommendQuery: {
      /** @description The examples, and how they are combined. */
      recommend: {
        /** @description Examples that are wanted. */
        positive?: components['schemas']['VectorInputs'];
        /** @description Examples that are not wanted. */
        negative?: components['schemas']['VectorInputs'];
        /**
         * @description How the examples are combined.
         * @default average_vector
         * @enum {unknown}
         */
        strategy?: 'average_vector' | 'best_score' | 'sum_scores' | null;
      };
    };
    /** @description Ranks by a target within a context of pairs. */
    DiscoverQuery: {
      /** @description The target and the context. */
      discover: {
        target: components['schemas']['VectorInput'];
        /** @description Pairs that say on which side a point should be. */
        context?: components['schemas']['ContextPair'] | components['schemas']['ContextPair'][] | null;
      };
    };
    /** @description Ranks by the similarity to a target, and to examples that a model has scored: `a`·s(target) plus, over pairs with different scores, (score(p) − score(n))^`b`·`c`·(s(p) − s(n)). */
    RelevanceFeedbackQuery: {
      /** @description The target, the examples and the coefficients. */
      relevance_feedback: {
        target: components['schemas']['VectorInput'];
        /** @description Examples, each with the score that the model gives it. */
        feedback: {
          example: components['schemas']['VectorInput'];
          /** @description Larger is better. */
          score: number;
        }[];
        /** @description How the scores count. */
        strategy: {
          /** @description The coefficients. */
          naive: {
            /** @description How much the similarity to the target counts. */
            a: number;
            /** @description The power of a difference of scores. */
            b: number;
            /** @description How much the similarities to the examples count. */
            c: number;
          };
        };
      };
    };
    /** @description Ranks by a context of pairs alone. */
    ContextQuery: {
      /** @description Pairs that say on which side a point should be. */
      context: components['schemas']['ContextPair'] | components['schemas']['ContextPair'][];
    };
    /** @description An example that is wanted, and one that is not. */
    ContextPair: {
      positive: components['schemas']['VectorInput'];
      negative: components['schemas']['VectorInput'];
    };
    /** @description Orders by a field. */
    OrderByQuery: {
      order_by: components['schemas']['OrderBy'];
    };
    /** @description Merges the hits of the prefetches. */
    FusionQuery: {
      /**
       * @description By reciprocal ranks (`rrf`) or by normalised scores (`dbsf`).
       * @enum {unknown}
       */
      fusion: 'rrf' | 'dbsf';
    };
    /** @description Merges the hits of the prefetches by reciprocal ranks. */
    RrfQuery: {
      /** @description The parameters of the fusion. */
      rrf: {
        /**
         * @description A larger one lets the first ranks count less.
         * @default 2
         */
        k?: number | null;
        /** @description One for each prefetch. */
        weights?: number[] | null;
      };
    };
    /** @description Answers points by chance. */
    SampleQuery: {
      /**
       * @description Each subset and each order is equally likely.
       * @constant
       */
      sample: 'random';
    };
    /** @description Ranks by a formula over scores and payload. */
    FormulaQuery: {
      formula: components['schemas']['Expression'];
      /** @description Values of variables, `$score[i]` included, where a point has none. */
      defaults?: {
        [key: string]: unknown;
      } | null;
    };
    /**
     * @description A number; `$score` or `$score[i]`, the score in a prefetch; the path of a number in the payload; a condition,
     *     which is 1 or 0; or an operation.
     */
    Expression:
      | number
      | string
      | components['schemas']['Condition']
      | {
          sum: components['schemas']['Expressions'];
        }
      | {
          mult: components['schemas']['Expressions'];
        }
      | {
          neg: components['schemas']['Expression'];
        }
      | {
          abs: components['schemas']['Expression'];
        }
      | {
          sqrt: components['schemas']['Expression'];
        }
      | {
          exp: components['schemas']['Expression'];
        }
      | {
          ln: components['schemas']['Expression'];
        }
      | {
          log10: components['schemas']['Expression'];
        }
      | {
          /** @description Divides one expression by another. */
          div: {
            left: components['schemas']['Expression'];
            right: components['schemas']['Expression'];
            /** @description The value where only the divisor is 0; without it that is an error. */
            by_zero_default?: number | null;
          };
        }
      | {
          /** @description Raises one expression to the power of another. */
          pow: {
            base: components['schemas']['Expression'];
            exponent: components['schemas']['Expression'];
          };
        }
      | {
          /** @description In metres. */
          geo_distance: {
            origin: components['schemas']['GeoPoint'];
            to: components['schemas']['Path'];
          };
        }
      | {
          /** @description A date-time, as seconds since 1970. */
          datetime: string;
        }
      | {
          datetime_key: components['schemas']['Path'];
        }
      | {
          lin_decay: components['schemas']['Decay'];
        }
      | {
          exp_decay: components['schemas']['Decay'];
        }
      | {
          gauss_decay: components['schemas']['Decay'];
        };
    /** @description Several expressions. */
    Expressions: components['schemas']['Expression'][];
    /** @description 1 where `x` is `target`, `midpoint` at a distance of `scale` from it. */
    Decay: {
      x: components['schemas']['Expression'];
      /** @default 0 */
      target?: components['schemas']['Expression'] | null;
      /**
       * @description The distance at which the value is `midpoint`.
       * @default 1
       */
      scale?: number | null;
      /**
       * @description The value at a distance of `scale`.
       * @default 0.5
       */
      midpoint?: number | null;
    };
    /** @description The unnamed vector alone, or vectors by name; `{}` when the point has none. */
    VectorsAnswered:
      | components['schemas']['DenseVectorAnswered']
      | components['schemas']['MultiVectorAnswered']
      | {
          [key: string]:
            | components['schemas']['DenseVectorAnswered']
            | components['schemas']['MultiVectorAnswered']
            | components['schemas']['SparseVectorAnswered'];
        };
    /** @description A point as it is read. */
    Record: {
      id: components['schemas']['PointId'];
      payload?: components['schemas']['Payload'];
      vector?: components['schemas']['VectorsAnswered'];
      /** @description What it was ordered by; date-times in microseconds. */
      order_value?: number;
    };
    /** @description A point that was found. */
    Hit: {
      id: components['schemas']['PointId'];
      payload?: components['schemas']['Payload'];
      vector?: components['schemas']['VectorsAnswered'];
      /** @description What it was ordered by; date-times in microseconds. */
      order_value?: number;
      /** @description The `operation_id` of the point's last change. */
      version: number;
      /** @description Larger is better, but for `Euclid` and `Manhattan`, where it is a distance. */
      score: number;
    };
    /** @description The points that were found, best first. */
    Hits: components['schemas']['Hit'][];
    /** @description What a query has found. */
    QueryResult: {
      points: components['schemas']['Hits'];
    };
    /** @description The envelope of a boolean. */
    BooleanAnswer: {
      time: components['schemas']['Seconds'];
      /**
       * @description Always `ok`.
       * @constant
       */
      status: 'ok';
      warnings?: components['schemas']['Warnings'];
      /** @description Whether it is so, or was done. */
      result: boolean;
    };
    /** @description The envelope of a state of authentication. */
    AuthBooleanAnswer: {
      /** @description Always empty. */
      usage: Record<string, never>;
      time: components['schemas']['Seconds'];
      /**
       * @description Always `ok`.
       * @constant
       */
      status: 'ok';
      /** @description Whether it is so. */
      result: boolean;
    };
    /** @description The envelope of a change. */
    UpdateAnswer: {
      time: components['schemas']['Seconds'];
      /**
       * @description Always `ok`.
       * @constant
       */
      status: 'ok';
      warnings?: components['schemas']['Warnings'];
      result: components['schemas']['UpdateResult'];
    };
    /** @description The envelope of several changes. */
    UpdatesAnswer: {
      time: components['schemas']['Seconds'];
      /**
       * @description Always `ok`.
       * @constant
       */
      status: 'ok';
      warnings?: components['schemas']['Warnings'];
      /** @description How far each change has come, in their order. */
      result: components['schemas']['UpdateResult'][];
    };
    /** @description The envelope of a sync. */
    SyncAnswer: {
      time: components['schemas']['Seconds'];
      /**
       * @description Always `ok`.
       * @constant
       */
      status: 'ok';
      warnings?: components['schemas']['Warnings'];
      /** @description What the sync did, or what is staged. */
      result: components['schemas']['SyncResult'] | components['schemas']['StagedPoints'];
    };
    /** @description The envelope of the plan of a sync. */
    SyncPlanAnswer: {
      time: components['schemas']['Seconds'];
      /**
       * @description Always `ok`.
       * @constant
       */
      status: 'ok';
      warnings?: components['schemas']['Warnings'];
      result: components['schemas']['SyncPlan'];
    };
    /** @description The envelope of the collections. */
    CollectionsAnswer: {
      time: components['schemas']['Seconds'];
      /**
       * @description Always `ok`.
       * @constant
       */
      status: 'ok';
      warnings?: components['schemas']['Warnings'];
      /** @description The collections. */
      result: {
        /** @description One object for each collection, by name. */
        collections: {
          /** @description The collection's name. */
          name: string;
        }[];
      };
    };
    /** @description The envelope of a collection's description. */
    CollectionInfoAnswer: {
      time: components['schemas']['Seconds'];
      /**
       * @description Always `ok`.
       * @constant
       */
      status: 'ok';
      warnings?: components['schemas']['Warnings'];
      result: components['schemas']['CollectionInfo'];
    };
    /** @description The envelope of whether a collection exists. */
    ExistsAnswer: {
      time: components['schemas']['Seconds'];
      /**
       * @description Always `ok`.
       * @constant
       */
      status: 'ok';
      warnings?: components['schemas']['Warnings'];
      /** @description Whether it exists. */
      result: {
        /** @description Whether there is a collection of that name. */
        exists: boolean;
      };
    };
    /** @description The envelope of points. */
    RecordsAnswer: {
      time: components['schemas']['Seconds'];
      /**
       * @description Always `ok`.
       * @constant
       */
      status: 'ok';
      warnings?: components['schemas']['Warnings'];
      /** @description The points in the order of the ids. */
      result: components['schemas']['Record'][];
    };
    /** @description The envelope of a point. */
    RecordAnswer: {
      time: components['schemas']['Seconds'];
      /**
       * @description Always `ok`.
       * @constant
       */
      status: 'ok';
      warnings?: components['schemas']['Warnings'];
      result: components['schemas']['Record'];
    };
    /** @description The envelope of a search. */
    HitsAnswer: {
      time: components['schemas']['Seconds'];
      /**
       * @description Always `ok`.
       * @constant
       */
      status: 'ok';
      warnings?: components['schemas']['Warnings'];
      result: components['schemas']['Hits'];
      explain?: components['schemas']['Explanation'];
      /** @description Where a cursor was asked for, that of the next page, or null after the last one. */
      next_cursor?: string | null;
    };
    /** @description The envelope of several searches. */
    HitListsAnswer: {
      time: components['schemas']['Seconds'];
      /**
       * @description Always `ok`.
       * @constant
       */
      status: 'ok';
      warnings?: components['schemas']['Warnings'];
      /** @description The hits of each search, in their order. */
      result: components['schemas']['Hits'][];
      /** @description The explanations that were asked for, in the order of the searches. */
      explain?: (components['schemas']['Explanation'] | null)[];
    };
    /** @description The envelope of a query. */
    QueryAnswer: {
      time: components['schemas']['Seconds'];
      /**
       * @description Always `ok`.
       * @constant
       */
      status: 'ok';
      warnings?: components['schemas']['Warnings'];
      result: components['schemas']['QueryResult'];
      explain?: components['schemas']['Explanation'];
      /** @description Where a cursor was asked for, that of the next page, or null after the last one. */
      next_cursor?: string | null;
    };
    /** @description The envelope of several queries. */
    QueryAnswers: {
      time: components['schemas']['Seconds'];
      /**
       * @description Always `ok`.
       * @constant
       */
      status: 'ok';
      warnings?: components['schemas']['Warnings'];
      /** @description What each query has found, in their order. */
      result: components['schemas']['QueryResult'][];
      /** @description The explanations that were asked for, in the order of the searches. */
      explain?: (components['schemas']['Explanation'] | null)[];
    };
    /** @description The envelope of a page. */
    PageAnswer: {
      time: components['schemas']['Seconds'];
      /**
       * @description Always `ok`.
       * @constant
       */
      status: 'ok';
      warnings?: components['schemas']['Warnings'];
      /** @description The page. */
      result: {
        /** @description The points in their order. */
        points: components['schemas']['Record'][];
        next_page_offset: components['schemas']['PointId'] | null;
      };
      /** @description Where a cursor was asked for, that of the next page, or null after the last one. */
      next_cursor?: string | null;
    };
    /** @description The envelope of a count. */
    CountAnswer: {
      time: components['schemas']['Seconds'];
      /**
       * @description Always `ok`.
       * @constant
       */
      status: 'ok';
      warnings?: components['schemas']['Warnings'];
      /** @description The count. */
      result: {
        /** @description How many points there are. */
        count: number;
      };
    };
    /** @description A snapshot. */
    SnapshotDescription: {
      /** @description Its name. */
      name: string;
      /** @description When it was made, in UTC, without a zone. */
      creation_time: string;
      /** @description Bytes of the file. */
      size: number;
      /** @description The SHA-256 of the file; null where it is not known. */
      checksum: string | null;
    };
    /** @description The envelope of a snapshot. */
    SnapshotAnswer: {
      time: components['schemas']['Seconds'];
      /**
       * @description Always `ok`.
       * @constant
       */
      status: 'ok';
      warnings?: components['schemas']['Warnings'];
      result: components['schemas']['SnapshotDescription'];
    };
    /** @description The envelope of a list of snapshots. */
    SnapshotsAnswer: {
      time: components['schemas']['Seconds'];
      /**
       * @description Always `ok`.
       * @constant
       */
      status: 'ok';
      warnings?: components['schemas']['Warnings'];
      /** @description By name. */
      result: components['schemas']['SnapshotDescription'][];
    };
    /** @description Which snapshot. */
    SnapshotRecover: {
      /** @description The name of a snapshot of the list, or a `file://` URL that ends with it. */
      location: string;
      /** @description The SHA-256 that the file must have. */
      checksum?: string | null;
      /**
       * @description Without effect on one node.
       * @enum {unknown}
       */
      priority?: 'no_sync' | 'snapshot' | 'replica' | null;
      /** @description Without effect. */
      api_key?: string | null;
    };
    /** @description The envelope of a collection's status. */
    CollectionStatusAnswer: {
      time: components['schemas']['Seconds'];
      /**
       * @description Always `ok`.
       * @constant
       */
      status: 'ok';
      warnings?: components['schemas']['Warnings'];
      /** @description The state. */
      result: {
        /**
         * @description As in the collection's description.
         * @enum {unknown}
         */
        status: 'green' | 'yellow' | 'grey' | 'red';
        /** @description `ok`, or what is wrong. */
        optimizer_status:
          | 'ok'
          | {
              /** @description What is wrong. */
              error: string;
            };
        /** @description Points. */
        points_count: number;
        /** @description Vectors in a graph. */
        indexed_vectors_count: number;
      };
    };
    /** @description What is to be changed about the shards of a collection. */
    CollectionClusterChange: {
      /** @description The replica that goes. */
      drop_replica: {
        /** @description The shard. */
        shard_id: number;
        /** @description The node whose replica goes. */
        peer_id: number;
      };
    };
    /** @description The envelope of how a collection is spread. */
    CollectionClusterAnswer: {
      time: components['schemas']['Seconds'];
      /**
       * @description Always `ok`.
       * @constant
       */
      status: 'ok';
      warnings?: components['schemas']['Warnings'];
      /** @description The shards. Members that Qdrant has not are of a cluster only. */
      result: {
        /** @description Of this node; 0 of a server by itself. */
        peer_id: number;
        /** @description Shards of the collection. */
        shard_count: number;
        /** @description The replicas of this node. */
        local_shards: {
          /** @description Its number. */
          shard_id: number;
          /** @description Points. */
          points_count: number;
          /**
           * @description Whether it answers, is being filled, or is out of use.
           * @enum {unknown}
           */
          state: 'Active' | 'Partial' | 'Dead';
          /** @description Of the last record that changed it. */
          position?: number;
          /** @description Messages of its stream that it has not applied. */
          behind?: number;
        }[];
        /** @description Those of other nodes. */
        remote_shards: {
          /** @description Its number. */
          shard_id: number;
          /** @description Of the node. */
          peer_id: number;
          /**
           * @description The same.
           * @enum {unknown}
           */
          state: 'Active' | 'Partial' | 'Dead';
          /** @description The same, where the node is live. */
          position?: number;
          /** @description The same. */
          behind?: number;
        }[];
        /** @description None. */
        shard_transfers: unknown[];
      };
    };
    /** @description The envelope of what waits to be optimised. */
    OptimizationsAnswer: {
      time: components['schemas']['Seconds'];
      /**
       * @description Always `ok`.
       * @constant
       */
      status: 'ok';
      warnings?: components['schemas']['Warnings'];
      /** @description What waits. */
      result: {
        /** @description Counts. */
        summary: {
          /**
           * @description Whether anything waits.
           * @enum {unknown}
           */
          queued_optimizations: 0 | 1;
          /**
           * @description The same.
           * @enum {unknown}
           */
          queued_segments: 0 | 1;
          /** @description Vectors that are not in a graph and will be. */
          queued_points: number;
          /**
           * @description 1 where nothing waits.
           * @enum {unknown}
           */
          idle_segments: 0 | 1;
        };
        /** @description Not said. */
        running: unknown[];
      };
    };
    /** @description The envelope of the state of the cluster. */
    ClusterStatusAnswer: {
      time: components['schemas']['Seconds'];
      /**
       * @description Always `ok`.
       * @constant
       */
      status: 'ok';
      warnings?: components['schemas']['Warnings'];
      /** @description The cluster, as this node knows it. */
      result:
        | {
            /**
             * @description A server is one node.
             * @constant
             */
            status: 'disabled';
          }
        | {
            /**
             * @description This server is a node.
             * @constant
             */
            status: 'enabled';
            /** @description Of this node. */
            peer_id: number;
            peers: components['schemas']['ClusterPeers'];
            /** @description What corresponds to Qdrant's; there is no Raft. */
            raft_info: {
              /**
               * @description Always 0.
               * @constant
               */
              term: 0;
              /** @description Sequence of the last event of the shard map. */
              commit: number;
              /**
               * @description Always 0.
               * @constant
               */
              pending_operations: 0;
              /** @description Of the node that proposes what failures demand; null while this node is cut off. */
              leader: number | null;
              /**
               * @description Whether it is this node.
               * @enum {unknown}
               */
              role: 'Leader' | 'Follower';
              /**
               * @description Always true.
               * @constant
               */
              is_voter: true;
            };
            /** @description For clients that look for it. */
            consensus_thread_status: {
              /**
               * @description Always.
               * @constant
               */
              consensus_thread_status: 'working';
              /**
               * Format: date-time
               * @description Now.
               */
              last_update: string;
            };
            /** @description None. */
            message_send_failures: {
              [key: string]: unknown;
            };
          };
    };
    /** @description The nodes by their peer ids, this one included. */
    ClusterPeers: {
      [key: string]: {
        /** @description Where it listens for other nodes: host and port. */
        uri: string;
        /**
         * Format: uuid
         * @description Its own id.
         */
        node: string;
        /**
         * @description By its heartbeats: silent after three seconds without one, lost after thirty.
         * @enum {unknown}
         */
        state: 'live' | 'silent' | 'lost';
      };
    };
    /** @description The envelope of the telemetry of a cluster. */
    ClusterTelemetryAnswer: {
      time: components['schemas']['Seconds'];
      /**
       * @description Always `ok`.
       * @constant
       */
      status: 'ok';
      warnings?: components['schemas']['Warnings'];
      /** @description The cluster. */
      result: {
        /** @description Not said. */
        collections: {
          [key: string]: unknown;
        };
        /** @description Its nodes. */
        cluster: {
          /** @description Whether this server is a node of one. */
          enabled: boolean;
          /** @description Nodes, this one included. */
          number_of_peers: number;
          peers: components['schemas']['ClusterPeers'];
        };
      };
    };
    /** @description The envelope of the settings in force. */
    SettingsAnswer: {
      time: components['schemas']['Seconds'];
      /**
       * @description Always `ok`.
       * @constant
       */
      status: 'ok';
      warnings?: components['schemas']['Warnings'];
      /** @description The settings. */
      result: {
        /** @description In the order of their reference. */
        settings: {
          /** @description Its key in the file. */
          name: string;
          /** @description As it is in force; null where there is none, and for a secret. */
          value: string | number | boolean | string[] | null;
          /** @description The flag, the variable or the key of the file that gave it; null for the default. */
          from: string | null;
          /** @description What it is for. */
          about: string;
          /** @description Whether its value is never shown. */
          secret: boolean;
        }[];
      };
    };
    /** @description The envelope of telemetry. */
    TelemetryAnswer: {
      time: components['schemas']['Seconds'];
      /**
       * @description Always `ok`.
       * @constant
       */
      status: 'ok';
      warnings?: components['schemas']['Warnings'];
      /** @description The process. */
      result: {
        /**
         * Format: uuid
         * @description Of this run of the process.
         */
        id: string;
        /** @description What runs. */
        app: {
          /**
           * @description The product.
           * @constant
           */
          name: 'kithdb';
          /** @description Its version. */
          version: string;
          /**
           * Format: date-time
           * @description When the process began.
           */
          startup: string;
        };
        /** @description What it serves. */
        collections: {
          /** @description 0 before the engine is ready. */
          number_of_collections: number;
        };
        /** @description No cluster. */
        cluster: {
          /**
           * @description A server is one node.
           * @constant
           */
          enabled: false;
        };
      };
    };
    /** @description What a grouped search has found. */
    GroupsResult: {
      /** @description By their best hits, best first. */
      groups: {
        /** @description The value that the points have in common. */
        id: string | number;
        hits: components['schemas']['Hits'];
        lookup?: components['schemas']['Record'];
      }[];
    };
    /** @description The envelope of groups of hits. */
    GroupsAnswer: {
      time: components['schemas']['Seconds'];
      /**
       * @description Always `ok`.
       * @constant
       */
      status: 'ok';
      warnings?: components['schemas']['Warnings'];
      result: components['schemas']['GroupsResult'];
    };
    /** @description The envelope of aliases. */
    AliasesAnswer: {
      time: components['schemas']['Seconds'];
      /**
       * @description Always `ok`.
       * @constant
       */
      status: 'ok';
      warnings?: components['schemas']['Warnings'];
      /** @description The aliases. */
      result: {
        /** @description One object for each alias, by its name. */
        aliases: {
          /** @description The alias. */
          alias_name: string;
          /** @description The name of its collection. */
          collection_name: string;
        }[];
      };
    };
    /** @description The envelope of a facet. */
    FacetAnswer: {
      time: components['schemas']['Seconds'];
      /**
       * @description Always `ok`.
       * @constant
       */
      status: 'ok';
      warnings?: components['schemas']['Warnings'];
      /** @description The values. */
      result: {
        /** @description Those that most points hold, most first. */
        hits: {
          /** @description As it is stored. */
          value: string | number | boolean;
          /** @description Points that hold it. */
          count: number;
        }[];
      };
    };
    /** @description The envelope of a distance matrix as pairs. */
    MatrixPairsAnswer: {
      time: components['schemas']['Seconds'];
      /**
       * @description Always `ok`.
       * @constant
       */
      status: 'ok';
      warnings?: components['schemas']['Warnings'];
      /** @description The pairs. */
      result: {
        /** @description By the id of the first point, and then best first. */
        pairs: {
          a: components['schemas']['PointId'];
          b: components['schemas']['PointId'];
          /** @description Of the two vectors. */
          score: number;
        }[];
      };
    };
    /** @description The envelope of a distance matrix as coordinates. */
    MatrixOffsetsAnswer: {
      time: components['schemas']['Seconds'];
      /**
       * @description Always `ok`.
       * @constant
       */
      status: 'ok';
      warnings?: components['schemas']['Warnings'];
      /** @description The entries. */
      result: {
        /** @description Place in `ids` of the first point of each entry. */
        offsets_row: number[];
        /** @description Place in `ids` of the second point of each entry. */
        offsets_col: number[];
        /** @description Score of each entry. */
        scores: number[];
        /** @description The points of the sample. */
        ids: components['schemas']['PointId'][];
      };
    };
    /** @description The envelope of a projection. */
    ProjectionAnswer: {
      time: components['schemas']['Seconds'];
      /**
       * @description Always `ok`.
       * @constant
       */
      status: 'ok';
      warnings?: components['schemas']['Warnings'];
      /** @description The points and their places. */
      result: {
        /** @description The points of the sample. */
        ids: components['schemas']['PointId'][];
        /** @description The first coordinate of each point, in their order. */
        x: number[];
        /** @description The second coordinate of each point, in their order. */
        y: number[];
        /** @description The share of the variance of the vectors that the plane shows, with the method `pca`. */
        explained_variance: number | null;
      };
    };
    /** @description As many numbers as the vector's `size`. */
    DenseVectorAnswered: components['schemas']['Float32'][];
    /** @description Rows of one length. */
    MultiVectorAnswered: components['schemas']['DenseVectorAnswered'][];
    /** @description As many values as indices; the indices are distinct. */
    SparseVectorAnswered: {
      /** @description The positions of the components that are not 0. */
      indices: number[];
      /** @description The components at these positions. */
      values: components['schemas']['Float32'][];
    };
  };
  responses: never;
  parameters: never;
  requestBodies: never;
  headers: never;
  pathItems: never;
}
export type $defs = Record<string, never>;
export type operations = Record<string, never>;
