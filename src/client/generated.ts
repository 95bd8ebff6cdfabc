/** Made of openapi/openapi.yaml by `npm run client-types`; `npm test` fails when it is out of date. */
/* eslint-disable */
export type paths = Record<string, never>;
export type webhooks = Record<string, never>;
export interface components {
  schemas: {
    /** @description Seconds that the server worked on the request. */
    Seconds: number;
    Error: {
      time: components['schemas']['Seconds'];
      status: {
        error: string;
      };
    };
    AuthError: {
      /** @constant */
      status: 'error';
      message: string;
    };
    Welcome: {
      /** @constant */
      title: 'kithdb - vector database';
      /** @description The level of Qdrant's API that is served. */
      version: string;
      kithdb_version: string;
      /** @constant */
      status: 'ok';
      time: components['schemas']['Seconds'];
    };
    LoginResult: {
      token: string | null;
      message: string;
      expires_in: number;
    };
    NewAccessToken: {
      /** @description Need not be unique. */
      name: string;
      /** @description Some of `read`, `write` and `admin`, comma-separated. None of them implies another. */
      permission: string;
      description?: string | null;
      /** @default false */
      will_expire?: boolean | null;
      /** @description Needed when `will_expire` is true and ignored otherwise; then a whole number from 1 to 315360000. */
      expires_in_seconds?: unknown;
    };
    AccessToken: {
      id: number;
      name: string;
      description: string | null;
      /** Format: date-time */
      created_at: string;
      /** Format: date-time */
      expired_at: string | null;
      will_expire: boolean;
      permission: string;
    };
    IssuedAccessToken: {
      id: number;
      name: string;
      description: string | null;
      /** Format: date-time */
      created_at: string;
      /** Format: date-time */
      expired_at: string | null;
      will_expire: boolean;
      permission: string;
      token: string;
    };
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
    /** @description An unsigned 64-bit integer, or a UUID in hyphenated, simple or URN form. */
    PointId: (number | bigint) | components['schemas']['Uuid'];
    Uuid: string;
    /** @description A number within the range of 32-bit floats. */
    Float32: number;
    DenseVector: number[] | Float32Array;
    /** @description Rows of one length. */
    MultiVector: components['schemas']['DenseVector'][];
    /** @description As many values as indices; the indices are distinct. */
    SparseVector: {
      indices: number[];
      values: number[] | Float32Array;
    };
    /** @description The unnamed vector, or vectors by name. `{}` is a point without vectors. */
    PointVectors:
      | components['schemas']['DenseVector']
      | components['schemas']['MultiVector']
      | {
          [key: string]:
            | components['schemas']['DenseVector']
            | components['schemas']['MultiVector']
            | components['schemas']['SparseVector']
            | null;
        };
    /** @description Any JSON object that is nested at most 64 deep. */
    Payload: {
      [key: string]: unknown;
    };
    /** @enum {unknown} */
    Distance: 'Cosine' | 'Euclid' | 'Dot' | 'Manhattan';
    /** @enum {unknown} */
    Datatype: 'float32' | 'float16' | 'uint8' | null;
    /** @description The graph over the vectors. What is absent keeps its default, in a change its value. */
    HnswConfig: {
      /** @description Links of a node; 0 for no graph. */
      m?: number | null;
      ef_construct?: number | null;
      ef_search?: number | null;
      /** @description In KB of vectors. */
      full_scan_threshold?: number | null;
      /** @deprecated */
      full_scan_threshold_kb?: number | null;
      max_indexing_threads?: number | null;
      on_disk?: boolean | null;
      payload_m?: number | null;
      inline_storage?: boolean | null;
    } | null;
    OptimizersConfig: {
      deleted_threshold?: number | null;
      vacuum_min_vector_number?: number | null;
      default_segment_number?: number | null;
      max_segment_size?: number | null;
      /** @deprecated */
      max_segment_size_kb?: number | null;
      memmap_threshold?: number | null;
      /** @deprecated */
      memmap_threshold_kb?: number | null;
      /** @description In KB of vectors; 0 for no graph. */
      indexing_threshold?: number | null;
      /** @deprecated */
      indexing_threshold_kb?: number | null;
      flush_interval_sec?: number | null;
      max_optimization_threads?: number | ('auto' | null);
      prevent_unoptimized?: boolean | null;
    } | null;
    WalConfig: {
      wal_capacity_mb?: number | null;
      wal_segments_ahead?: number | null;
      wal_retain_closed?: number | null;
      /**
       * @description When a change is acknowledged. `always`: after the sync; it survives a power cut. `interval`: when the operating system has it; it survives the end of the process, and a power cut from a second later on. `os`: likewise, without a promise of when it is synced. What a power cut takes is always the last of a collection's changes.
       * @default always
       * @enum {unknown}
       */
      durability?: 'always' | 'interval' | 'os' | null;
    } | null;
    Quantization:
      | {
          scalar: {
            /** @constant */
            type: 'int8';
            quantile?: number | null;
            always_ram?: boolean | null;
          };
          product?: null;
          binary?: null;
        }
      | {
          product: {
            /** @enum {unknown} */
            compression: 'x4' | 'x8' | 'x16' | 'x32' | 'x64';
            always_ram?: boolean | null;
          };
          scalar?: null;
          binary?: null;
        }
      | {
          binary: {
            always_ram?: boolean | null;
            /** @enum {unknown} */
            encoding?: 'one_bit' | 'two_bits' | 'one_and_half_bits' | null;
            /** @enum {unknown} */
            query_encoding?: 'default' | 'binary' | 'scalar4bits' | 'scalar8bits' | null;
          };
          scalar?: null;
          product?: null;
        };
    MaybeQuantization: components['schemas']['Quantization'] | null;
    QuantizationChange: components['schemas']['Quantization'] | ('Disabled' | null);
    VectorParams: {
      size: number;
      distance: components['schemas']['Distance'];
      hnsw_config?: components['schemas']['HnswConfig'];
      quantization_config?: components['schemas']['MaybeQuantization'];
      /** @deprecated */
      quantization?: components['schemas']['MaybeQuantization'];
      on_disk?: boolean | null;
      datatype?: components['schemas']['Datatype'];
      multivector_config?: {
        /** @constant */
        comparator: 'max_sim';
      } | null;
    };
    /** @description The unnamed vector, or at most 64 vectors by name. */
    VectorsConfig:
      | components['schemas']['VectorParams']
      | {
          [key: string]: components['schemas']['VectorParams'] | null;
        }
      | null;
    SparseVectorParams: {
      index?: {
        full_scan_threshold?: number | null;
        /** @deprecated */
        full_scan_threshold_kb?: number | null;
        on_disk?: boolean | null;
        datatype?: components['schemas']['Datatype'];
      } | null;
      /** @enum {unknown} */
      modifier?: 'none' | 'idf' | null;
    } | null;
    SparseVectorsConfig: {
      [key: string]: components['schemas']['SparseVectorParams'];
    } | null;
    /** @description Kept and shown; not enforced. */
    StrictModeConfig: {
      /** @enum {unknown} */
      enabled?: false | null;
      max_query_limit?: number | null;
      max_timeout?: number | null;
      unindexed_filtering_retrieve?: boolean | null;
      unindexed_filtering_update?: boolean | null;
      search_max_hnsw_ef?: number | null;
      search_allow_exact?: boolean | null;
      search_max_oversampling?: number | null;
      upsert_max_batchsize?: number | null;
      search_max_batchsize?: number | null;
      max_collection_vector_size_bytes?: number | null;
      max_collection_payload_size_bytes?: number | null;
      read_rate_limit?: number | null;
      write_rate_limit?: number | null;
      max_points_count?: number | null;
      filter_max_conditions?: number | null;
      condition_max_size?: number | null;
      multivector_config?: {
        [key: string]: Record<string, never>;
      } | null;
      sparse_config?: {
        [key: string]: Record<string, never>;
      } | null;
      max_payload_index_count?: number | null;
    } | null;
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
      on_disk_payload?: boolean | null;
      metadata?: {
        [key: string]: unknown;
      } | null;
      strict_mode_config?: components['schemas']['StrictModeConfig'];
      shard_number?: number | null;
      /** @enum {unknown} */
      sharding_method?: 'auto' | null;
      replication_factor?: number | null;
      write_consistency_factor?: number | null;
    };
    UpdateCollection: {
      /** @description By name; the unnamed vector is under `""`. */
      vectors?: {
        [key: string]: {
          hnsw_config?: components['schemas']['HnswConfig'];
          quantization_config?: components['schemas']['QuantizationChange'];
          /** @deprecated */
          quantization?: components['schemas']['QuantizationChange'];
          on_disk?: boolean | null;
        } | null;
      } | null;
      sparse_vectors?: components['schemas']['SparseVectorsConfig'];
      hnsw_config?: components['schemas']['HnswConfig'];
      optimizers_config?: components['schemas']['OptimizersConfig'];
      /** @deprecated */
      optimizer_config?: components['schemas']['OptimizersConfig'];
      wal_config?: components['schemas']['WalConfig'];
      params?: {
        replication_factor?: number | null;
        write_consistency_factor?: number | null;
        read_fan_out_factor?: number | null;
        read_fan_out_delay_ms?: number | null;
        on_disk_payload?: boolean | null;
      } | null;
      quantization_config?: components['schemas']['QuantizationChange'];
      /** @deprecated */
      quantization?: components['schemas']['QuantizationChange'];
      /** @description Merged; null deletes a key. */
      metadata?: {
        [key: string]: unknown;
      } | null;
      strict_mode_config?: components['schemas']['StrictModeConfig'];
    };
    CollectionInfo: {
      /**
       * @description Green means that nothing awaits indexing; yellow that something does; red that there is a fault.
       * @enum {unknown}
       */
      status: 'green' | 'yellow' | 'grey' | 'red';
      optimizer_status:
        | 'ok'
        | {
            error: string;
          };
      warnings: {
        message: string;
      }[];
      indexed_vectors_count: number;
      points_count: number;
      segments_count: number;
      config: {
        params: {
          vectors: components['schemas']['VectorsConfig'];
          sparse_vectors?: components['schemas']['SparseVectorsConfig'];
          shard_number: number;
          replication_factor: number;
          write_consistency_factor: number;
          read_fan_out_factor?: number;
          read_fan_out_delay_ms?: number;
          on_disk_payload: boolean;
        };
        hnsw_config: components['schemas']['HnswConfig'];
        optimizer_config: components['schemas']['OptimizersConfig'];
        wal_config: components['schemas']['WalConfig'];
        quantization_config: components['schemas']['MaybeQuantization'];
        strict_mode_config?: components['schemas']['StrictModeConfig'];
        metadata?: {
          [key: string]: unknown;
        };
      };
      /** @description The indexed fields. */
      payload_schema: {
        [key: string]: {
          data_type: components['schemas']['FieldType'];
          params: components['schemas']['FieldParams'] | null;
          /** @description Points with at least one indexed value. */
          points: number;
        };
      };
    };
    /** @enum {unknown} */
    FieldType: 'keyword' | 'integer' | 'float' | 'bool' | 'geo' | 'datetime' | 'text' | 'uuid';
    FieldParams:
      | {
          /** @constant */
          type: 'keyword';
          is_tenant?: boolean | null;
          prefix?: boolean | null;
          on_disk?: boolean | null;
          enable_hnsw?: boolean | null;
        }
      | {
          /** @constant */
          type: 'integer';
          /** @default true */
          lookup?: boolean | null;
          /** @default true */
          range?: boolean | null;
          is_principal?: boolean | null;
          on_disk?: boolean | null;
          enable_hnsw?: boolean | null;
        }
      | {
          /** @enum {unknown} */
          type: 'float' | 'datetime';
          is_principal?: boolean | null;
          on_disk?: boolean | null;
          enable_hnsw?: boolean | null;
        }
      | {
          /** @enum {unknown} */
          type: 'bool' | 'geo';
          on_disk?: boolean | null;
          enable_hnsw?: boolean | null;
        }
      | {
          /** @constant */
          type: 'uuid';
          is_tenant?: boolean | null;
          on_disk?: boolean | null;
          enable_hnsw?: boolean | null;
        }
      | components['schemas']['TextIndexParams'];
    TextIndexParams: {
      /** @constant */
      type: 'text';
      /**
       * @default word
       * @enum {unknown}
       */
      tokenizer?: 'word' | 'whitespace' | 'prefix' | 'multilingual' | null;
      min_token_len?: number | null;
      max_token_len?: number | null;
      /** @default true */
      lowercase?: boolean | null;
      /** @default false */
      ascii_folding?: boolean | null;
      /** @default false */
      phrase_matching?: boolean | null;
      /** @description A language, or languages and words of one's own. */
      stopwords?:
        | components['schemas']['StopWordLanguage']
        | null
        | {
            languages?: components['schemas']['StopWordLanguage'][] | null;
            custom?: string[] | null;
          };
      stemmer?: {
        /** @constant */
        type: 'snowball';
        language: components['schemas']['StemmerLanguage'];
      } | null;
      on_disk?: boolean | null;
      enable_hnsw?: boolean | null;
    };
    /** @enum {unknown} */
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
    /** @enum {unknown} */
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
    FieldSchema: components['schemas']['FieldType'] | components['schemas']['FieldParams'];
    CreateFieldIndex: {
      field_name: components['schemas']['Path'];
      field_schema?: components['schemas']['FieldSchema'];
      /** @deprecated */
      field_type?: components['schemas']['FieldSchema'];
    };
    PointList: {
      id: components['schemas']['PointId'];
      vector?: components['schemas']['PointVectors'];
      /** @deprecated */
      vectors?: components['schemas']['PointVectors'];
      payload?: components['schemas']['Payload'] | null;
    }[];
    /** @description As many vectors, and payloads if there are any, as ids. */
    PointColumns: {
      ids: components['schemas']['PointId'][];
      vectors:
        | components['schemas']['VectorColumn']
        | {
            [key: string]: components['schemas']['VectorColumn'] | null;
          };
      payloads?: (components['schemas']['Payload'] | null)[] | null;
    };
    VectorColumn: (
      | components['schemas']['DenseVector']
      | components['schemas']['MultiVector']
      | components['schemas']['SparseVector']
    )[];
    /** @description Either `points` or `batch`. */
    UpsertPoints: {
      points?: components['schemas']['PointList'] | null;
      batch?: components['schemas']['PointColumns'] | null;
      /**
       * @description What happens to points that exist, and to those that do not. Those passed over are no error.
       * @default upsert
       * @enum {unknown}
       */
      update_mode?: 'upsert' | 'insert_only' | 'update_only' | null;
      /** @description Points that exist and do not match keep their state. */
      update_filter?: components['schemas']['MaybeFilter'];
      shard_key?: components['schemas']['ShardKey'];
    };
    PointIds: components['schemas']['PointId'][] | null;
    /** @description By id or by filter; the ids count when both are given. */
    SelectPoints: {
      points?: components['schemas']['PointIds'];
      filter?: components['schemas']['MaybeFilter'];
      shard_key?: components['schemas']['ShardKey'];
    };
    UpdateVectors: {
      points: components['schemas']['PointVectorList'];
      update_filter?: components['schemas']['MaybeFilter'];
      shard_key?: components['schemas']['ShardKey'];
    };
    PointVectorList: {
      id: components['schemas']['PointId'];
      vector?: components['schemas']['PointVectors'];
      /** @deprecated */
      vectors?: components['schemas']['PointVectors'];
    }[];
    VectorNames: components['schemas']['VectorName'][];
    DeleteVectors: {
      points?: components['schemas']['PointIds'];
      filter?: components['schemas']['MaybeFilter'];
      shard_key?: components['schemas']['ShardKey'];
      vector?: components['schemas']['VectorNames'];
      /** @deprecated */
      vectors?: components['schemas']['VectorNames'];
    };
    SetPayload: {
      points?: components['schemas']['PointIds'];
      filter?: components['schemas']['MaybeFilter'];
      shard_key?: components['schemas']['ShardKey'];
      payload: components['schemas']['Payload'];
      key?: components['schemas']['Path'] | null;
    };
    DeletePayload: {
      points?: components['schemas']['PointIds'];
      filter?: components['schemas']['MaybeFilter'];
      shard_key?: components['schemas']['ShardKey'];
      keys: components['schemas']['Path'][];
    };
    BatchUpdate: {
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
          clear_payload: components['schemas']['SelectPoints'];
        }
      | {
          update_vectors: components['schemas']['UpdateVectors'];
        }
      | {
          delete_vectors: components['schemas']['DeleteVectors'];
        };
    UpdateResult: {
      /** @description Grows with every change of the collection. */
      operation_id: number;
      /** @enum {unknown} */
      status: 'completed' | 'acknowledged';
    };
    /** @description All of `must`, at least one of `should`, none of `must_not`. An empty filter matches everything. */
    Filter: {
      must?: components['schemas']['Conditions'];
      should?: components['schemas']['Conditions'];
      must_not?: components['schemas']['Conditions'];
      min_should?: {
        conditions: components['schemas']['Condition'] | components['schemas']['Condition'][];
        min_count: number;
      } | null;
    };
    MaybeFilter: components['schemas']['Filter'] | null;
    /** @description One condition or a list of them. */
    Conditions: components['schemas']['Condition'] | components['schemas']['Condition'][] | null;
    Condition:
      | components['schemas']['FieldCondition']
      | {
          is_empty: components['schemas']['KeyObject'];
        }
      | {
          is_null: components['schemas']['KeyObject'];
        }
      | {
          has_id: components['schemas']['PointId'][];
        }
      | {
          has_vector: components['schemas']['VectorName'];
        }
      | {
          /** @description Some element of the array satisfies the whole filter, whose keys are relative to it. */
          nested: {
            key: components['schemas']['Path'];
            filter: components['schemas']['Filter'];
          };
        }
      | components['schemas']['Filter'];
    KeyObject: {
      key: components['schemas']['Path'];
    };
    /** @description Holds when any of its clauses holds for a value at `key`, or for any element of an array there. */
    FieldCondition: {
      key: components['schemas']['Path'];
      match?: components['schemas']['Match'];
      range?: components['schemas']['Range'];
      geo_bounding_box?: {
        top_left: components['schemas']['GeoPoint'];
        bottom_right: components['schemas']['GeoPoint'];
      } | null;
      geo_radius?: {
        center: components['schemas']['GeoPoint'];
        /** @description In metres. */
        radius: number;
      } | null;
      geo_polygon?: {
        exterior: components['schemas']['Ring'];
        interiors?: components['schemas']['Ring'][] | null;
      } | null;
      values_count?: {
        gt?: number | null;
        gte?: number | null;
        lt?: number | null;
        lte?: number | null;
      } | null;
      is_empty?: boolean | null;
      is_null?: boolean | null;
    };
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
          prefix: string;
        }
      | {
          text: string;
        }
      | {
          text_any: string;
        }
      | {
          phrase: string;
        }
      | null;
    MatchValue: (string | boolean) | (number | bigint);
    /** @description All strings or all integers. */
    MatchList: string[] | (number | bigint)[];
    /** @description Bounds that are all numbers, or all RFC 3339 date-times. */
    Range:
      | ({
          gt?: number | null;
          gte?: number | null;
          lt?: number | null;
          lte?: number | null;
        } | null)
      | {
          gt?: string | null;
          gte?: string | null;
          lt?: string | null;
          lte?: string | null;
        };
    GeoPoint: {
      lon: number;
      lat: number;
    };
    /** @description A closed line; the last point is the first. */
    Ring: {
      points: components['schemas']['GeoPoint'][];
    };
    /** @description What of the payload is answered. True for retrieve and scroll, false for search and query. */
    WithPayload:
      | (boolean | null)
      | components['schemas']['Paths']
      | {
          include: components['schemas']['Paths'];
          exclude?: null;
        }
      | {
          exclude: components['schemas']['Paths'];
          include?: null;
        };
    Paths: components['schemas']['Path'][];
    /** @description Which vectors are answered. */
    WithVector: (boolean | null) | components['schemas']['VectorName'][];
    SearchParams: {
      /** @description Width of the walk through the graph. */
      hnsw_ef?: number | null;
      /**
       * @description Compare with every vector.
       * @default false
       */
      exact?: boolean | null;
      /** @default false */
      indexed_only?: boolean | null;
      quantization?: {
        /** @default false */
        ignore?: boolean | null;
        /** @default true */
        rescore?: boolean | null;
        oversampling?: number | null;
      } | null;
      /** @description Without effect; the planner decides. */
      acorn?: {
        enable?: boolean | null;
        max_selectivity?: number | null;
      } | null;
    } | null;
    /**
     * @description With `offset` at most 100000.
     * @default 10
     */
    Limit: number | null;
    /** @default 0 */
    Offset: number | null;
    /** @description Only scores that are equal or better, in the direction of the distance. */
    ScoreThreshold: components['schemas']['Float32'] | null;
    RetrievePoints: {
      ids: components['schemas']['PointId'][];
      with_payload?: components['schemas']['WithPayload'];
      with_vector?: components['schemas']['WithVector'];
      /** @deprecated */
      with_vectors?: components['schemas']['WithVector'];
      shard_key?: components['schemas']['ShardKey'];
    };
    SearchRequest: {
      vector:
        | components['schemas']['DenseVector']
        | {
            name: components['schemas']['VectorName'];
            vector: components['schemas']['DenseVector'] | components['schemas']['SparseVector'];
          };
      filter?: components['schemas']['MaybeFilter'];
      params?: components['schemas']['SearchParams'];
      score_threshold?: components['schemas']['ScoreThreshold'];
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
    SearchBatch: {
      searches: components['schemas']['SearchRequest'][];
    };
    OrderBy:
      | components['schemas']['Path']
      | {
          key: components['schemas']['Path'];
          /**
           * @default asc
           * @enum {unknown}
           */
          direction?: 'asc' | 'desc' | null;
          /** @description The first value of the page, a number or an RFC 3339 date-time. */
          start_from?: number | string | null;
        };
    ScrollRequest: {
      filter?: components['schemas']['MaybeFilter'];
      limit?: components['schemas']['Limit'];
      /** @description The first id of the page. Not together with `order_by`. */
      offset?: components['schemas']['PointId'] | null;
      order_by?: components['schemas']['OrderBy'] | null;
      with_payload?: components['schemas']['WithPayload'];
      with_vector?: components['schemas']['WithVector'];
      /** @deprecated */
      with_vectors?: components['schemas']['WithVector'];
      shard_key?: components['schemas']['ShardKey'];
    };
    CountRequest: {
      filter?: components['schemas']['MaybeFilter'];
      /** @default true */
      exact?: boolean | null;
      shard_key?: components['schemas']['ShardKey'];
    };
    QueryRequest: {
      query?: components['schemas']['Query'] | null;
      /** @description Queries whose hits this one ranks anew or merges. */
      prefetch?: components['schemas']['Prefetch'] | components['schemas']['Prefetch'][] | null;
      /** @description The vector's name; the unnamed one when absent. */
      using?: string | null;
      filter?: components['schemas']['MaybeFilter'];
      params?: components['schemas']['SearchParams'];
      score_threshold?: components['schemas']['ScoreThreshold'];
      limit?: components['schemas']['Limit'];
      offset?: components['schemas']['Offset'];
      with_payload?: components['schemas']['WithPayload'];
      with_vector?: components['schemas']['WithVector'];
      /** @deprecated */
      with_vectors?: components['schemas']['WithVector'];
      lookup_from?: components['schemas']['LookupFrom'];
      shard_key?: components['schemas']['ShardKey'];
    };
    QueryBatch: {
      searches: components['schemas']['QueryRequest'][];
    };
    /** @description Nested at most 64 deep, and 64 in one query. The outer filter holds in it, too. */
    Prefetch: {
      query?: components['schemas']['Query'] | null;
      prefetch?: components['schemas']['Prefetch'] | components['schemas']['Prefetch'][] | null;
      using?: string | null;
      filter?: components['schemas']['MaybeFilter'];
      params?: components['schemas']['SearchParams'];
      score_threshold?: components['schemas']['ScoreThreshold'];
      limit?: components['schemas']['Limit'];
      lookup_from?: components['schemas']['LookupFrom'];
      shard_key?: components['schemas']['ShardKey'];
    };
    /** @description Where the vectors of ids are looked up. */
    LookupFrom: {
      collection: string;
      vector?: string | null;
      shard_key?: components['schemas']['ShardKey'];
    } | null;
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
      | components['schemas']['SampleQuery'];
    /** @description A vector, or the id of a point, which is left out of the result. */
    VectorInput:
      | components['schemas']['DenseVector']
      | components['schemas']['MultiVector']
      | components['schemas']['SparseVector']
      | components['schemas']['PointId'];
    VectorInputs: components['schemas']['VectorInput'][] | null;
    NearestQuery: {
      nearest: components['schemas']['VectorInput'];
      /** @description Among the nearest, prefers those that are unlike the ones chosen already. */
      mmr?: {
        /** @default 0.5 */
        diversity?: number | null;
        candidates_limit?: number | null;
      } | null;
    };
    RecommendQuery: {
      recommend: {
        positive?: components['schemas']['VectorInputs'];
        negative?: components['schemas']['VectorInputs'];
        /**
         * @default average_vector
         * @enum {unknown}
         */
        strategy?: 'average_vector' | 'best_score' | 'sum_scores' | null;
      };
    };
    DiscoverQuery: {
      discover: {
        target: components['schemas']['VectorInput'];
        context?: components['schemas']['ContextPair'] | components['schemas']['ContextPair'][] | null;
      };
    };
    ContextQuery: {
      context: components['schemas']['ContextPair'] | components['schemas']['ContextPair'][];
    };
    ContextPair: {
      positive: components['schemas']['VectorInput'];
      negative: components['schemas']['VectorInput'];
    };
    OrderByQuery: {
      order_by: components['schemas']['OrderBy'];
    };
    FusionQuery: {
      /** @enum {unknown} */
      fusion: 'rrf' | 'dbsf';
    };
    RrfQuery: {
      rrf: {
        /** @default 2 */
        k?: number | null;
        /** @description One for each prefetch. */
        weights?: number[] | null;
      };
    };
    SampleQuery: {
      /** @constant */
      sample: 'random';
    };
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
          div: {
            left: components['schemas']['Expression'];
            right: components['schemas']['Expression'];
            by_zero_default?: number | null;
          };
        }
      | {
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
    Expressions: components['schemas']['Expression'][];
    /** @description 1 where `x` is `target`, `midpoint` at a distance of `scale` from it. */
    Decay: {
      x: components['schemas']['Expression'];
      /** @default 0 */
      target?: components['schemas']['Expression'] | null;
      /** @default 1 */
      scale?: number | null;
      /** @default 0.5 */
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
    Record: {
      id: components['schemas']['PointId'];
      payload?: components['schemas']['Payload'];
      vector?: components['schemas']['VectorsAnswered'];
      /** @description What it was ordered by; date-times in microseconds. */
      order_value?: number;
    };
    Hit: {
      id: components['schemas']['PointId'];
      payload?: components['schemas']['Payload'];
      vector?: components['schemas']['VectorsAnswered'];
      /** @description What it was ordered by; date-times in microseconds. */
      order_value?: number;
      /** @description The `operation_id` of the point's last change. */
      version: number;
      score: number;
    };
    Hits: components['schemas']['Hit'][];
    QueryResult: {
      points: components['schemas']['Hits'];
    };
    BooleanAnswer: {
      /** @description Always empty. */
      usage: Record<string, never>;
      time: components['schemas']['Seconds'];
      /** @constant */
      status: 'ok';
      result: boolean;
    };
    UpdateAnswer: {
      /** @description Always empty. */
      usage: Record<string, never>;
      time: components['schemas']['Seconds'];
      /** @constant */
      status: 'ok';
      result: components['schemas']['UpdateResult'];
    };
    UpdatesAnswer: {
      /** @description Always empty. */
      usage: Record<string, never>;
      time: components['schemas']['Seconds'];
      /** @constant */
      status: 'ok';
      result: components['schemas']['UpdateResult'][];
    };
    CollectionsAnswer: {
      /** @description Always empty. */
      usage: Record<string, never>;
      time: components['schemas']['Seconds'];
      /** @constant */
      status: 'ok';
      result: {
        collections: {
          name: string;
        }[];
      };
    };
    CollectionInfoAnswer: {
      /** @description Always empty. */
      usage: Record<string, never>;
      time: components['schemas']['Seconds'];
      /** @constant */
      status: 'ok';
      result: components['schemas']['CollectionInfo'];
    };
    ExistsAnswer: {
      /** @description Always empty. */
      usage: Record<string, never>;
      time: components['schemas']['Seconds'];
      /** @constant */
      status: 'ok';
      result: {
        exists: boolean;
      };
    };
    RecordsAnswer: {
      /** @description Always empty. */
      usage: Record<string, never>;
      time: components['schemas']['Seconds'];
      /** @constant */
      status: 'ok';
      result: components['schemas']['Record'][];
    };
    RecordAnswer: {
      /** @description Always empty. */
      usage: Record<string, never>;
      time: components['schemas']['Seconds'];
      /** @constant */
      status: 'ok';
      result: components['schemas']['Record'];
    };
    HitsAnswer: {
      /** @description Always empty. */
      usage: Record<string, never>;
      time: components['schemas']['Seconds'];
      /** @constant */
      status: 'ok';
      result: components['schemas']['Hits'];
    };
    HitListsAnswer: {
      /** @description Always empty. */
      usage: Record<string, never>;
      time: components['schemas']['Seconds'];
      /** @constant */
      status: 'ok';
      result: components['schemas']['Hits'][];
    };
    QueryAnswer: {
      /** @description Always empty. */
      usage: Record<string, never>;
      time: components['schemas']['Seconds'];
      /** @constant */
      status: 'ok';
      result: components['schemas']['QueryResult'];
    };
    QueryAnswers: {
      /** @description Always empty. */
      usage: Record<string, never>;
      time: components['schemas']['Seconds'];
      /** @constant */
      status: 'ok';
      result: components['schemas']['QueryResult'][];
    };
    PageAnswer: {
      /** @description Always empty. */
      usage: Record<string, never>;
      time: components['schemas']['Seconds'];
      /** @constant */
      status: 'ok';
      result: {
        points: components['schemas']['Record'][];
        next_page_offset: components['schemas']['PointId'] | null;
      };
    };
    CountAnswer: {
      /** @description Always empty. */
      usage: Record<string, never>;
      time: components['schemas']['Seconds'];
      /** @constant */
      status: 'ok';
      result: {
        count: number;
      };
    };
    DenseVectorAnswered: components['schemas']['Float32'][];
    /** @description Rows of one length. */
    MultiVectorAnswered: components['schemas']['DenseVectorAnswered'][];
    /** @description As many values as indices; the indices are distinct. */
    SparseVectorAnswered: {
      indices: number[];
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
