/** Made of openapi/openapi.yaml by `npm run client-types`; `npm test` fails when it is out of date. */
export interface paths {
  '/': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Names the service and its versions
     * @description Clients compare `version` with the level of Qdrant's API that they were made for. Answers in every state, without credentials.
     */
    get: operations['root'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/livez': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Says whether the process lives
     * @description Answers 200 while the process serves HTTP, starting and stopping included.
     */
    get: operations['livez'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/readyz': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Says whether data endpoints are served
     * @description Answers 200 when data endpoints are served, else 503 with the state.
     */
    get: operations['readyz'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/healthz': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Says whether the process serves HTTP, as `/livez` does
     * @description Answers 200 while the process serves HTTP, starting and stopping included.
     */
    get: operations['healthz'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/openapi.json': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Gives this document
     * @description The document has the version of the server that answers it.
     */
    get: operations['get_openapi'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/metrics': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Gives the metrics in Prometheus' text format
     * @description Needs `read` when authentication is enabled. Answers before the engine is ready, too.
     */
    get: operations['metrics'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/auth/admin/exists': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Says whether the admin has been created
     * @description Needs no credentials, so that a first visitor can be told to create the admin.
     */
    get: operations['admin_exists'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/auth/admin': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Creates the admin
     * @description Answers only a direct caller on the same machine. The user name is always `admin` and never sent.
     */
    post: operations['create_admin'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/auth/admin/reset-password': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Sets another password and ends every JWT issued before
     * @description Needs the admin's JWT in either state of authentication, from wherever it comes; an access token does not do. A lost password is replaced by the command `kithdb admin reset-password`.
     */
    post: operations['reset_admin_password'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/auth/admin/login': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Gives a JWT for the admin's password
     * @description After five failures from one address within a minute the answer is 429, also for the right password.
     */
    post: operations['login'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/auth/enabled': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    /**
     * Switches authentication on or off
     * @description Needs the admin's JWT in either state; an access token does not do.
     */
    patch: operations['set_auth_enabled'];
    trace?: never;
  };
  '/auth/access_tokens': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Lists the access tokens, oldest first, without their values
     * @description Needs `admin`.
     */
    get: operations['list_access_tokens'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/auth/access_token': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Makes an access token
     * @description Needs `admin`. The answer alone shows the token's value.
     */
    post: operations['create_access_token'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/auth/access_token/{id}/rotate': {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The token's id.
         * @example 1
         */
        id: components['parameters']['TokenId'];
      };
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Gives an access token another value; the old one is dead before the answer
     * @description Needs `admin`. An expired token cannot be rotated.
     */
    post: operations['rotate_access_token'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/auth/access_token/{id}': {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The token's id.
         * @example 1
         */
        id: components['parameters']['TokenId'];
      };
      cookie?: never;
    };
    get?: never;
    put?: never;
    post?: never;
    /**
     * Deletes an access token; it is dead before the answer
     * @description Needs `admin`.
     */
    delete: operations['delete_access_token'];
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/collections': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Lists the collections by name
     * @description The answer has names only; each collection describes itself.
     */
    get: operations['get_collections'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/collections/{collection_name}': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Describes a collection
     * @description A collection that could not be opened is described too, with `status` `red` and the fault.
     */
    get: operations['get_collection'];
    /**
     * Creates a collection
     * @description Declares its vectors and its settings. What is absent gets a default.
     */
    put: operations['create_collection'];
    post?: never;
    /**
     * Removes a collection
     * @description The result is false when there was none. The name is free when the answer comes.
     */
    delete: operations['delete_collection'];
    options?: never;
    head?: never;
    /**
     * Changes settings of a collection
     * @description What is absent stays. The size and the distance of a vector cannot be changed.
     */
    patch: operations['update_collection'];
    trace?: never;
  };
  '/collections/{collection_name}/exists': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * Says whether there is a collection of that name
     * @description The answer is never a 404.
     */
    get: operations['collection_exists'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/collections/{collection_name}/points': {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
      };
      cookie?: never;
    };
    get?: never;
    /**
     * Inserts points, or replaces those with the same id
     * @description Of an id that is named twice the last counts. All or nothing, as every change of points.
     */
    put: operations['upsert_points'];
    /**
     * Reads points by id, in the order asked
     * @description An id that is absent is a 404 that names it.
     */
    post: operations['get_points'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/collections/{collection_name}/points/{id}': {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
      };
      cookie?: never;
    };
    /**
     * Reads one point with its payload and its vectors
     * @description An id that is absent is a 404.
     */
    get: operations['get_point'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/collections/{collection_name}/points/delete': {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
      };
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Deletes points by id or by filter
     * @description Ids that are absent are passed over. The filter `{}` is about every point.
     */
    post: operations['delete_points'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/collections/{collection_name}/points/vectors': {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
      };
      cookie?: never;
    };
    get?: never;
    /**
     * Replaces the vectors given and keeps the others and the payload
     * @description An id that is absent is a 404, and nothing changes.
     */
    put: operations['update_vectors'];
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/collections/{collection_name}/points/vectors/delete': {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
      };
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Removes vectors of points by name
     * @description The other vectors and the payload stay. An id that is absent is a 404, and nothing changes.
     */
    post: operations['delete_vectors'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/collections/{collection_name}/points/payload': {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
      };
      cookie?: never;
    };
    get?: never;
    /**
     * Replaces payloads, or what is at `key` in them
     * @description What the new payload lacks is gone. An id that is absent is a 404, and nothing changes.
     */
    put: operations['overwrite_payload'];
    /**
     * Merges keys into payloads
     * @description At the top level, or at `key`. A `null` removes its key; other values replace what was there, whole.
     */
    post: operations['set_payload'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/collections/{collection_name}/points/payload/delete': {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
      };
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Removes paths from payloads
     * @description Paths that a payload lacks are passed over. An id that is absent is a 404, and nothing changes.
     */
    post: operations['delete_payload'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/collections/{collection_name}/points/payload/clear': {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
      };
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Leaves empty payloads
     * @description The vectors stay. An id that is absent is a 404, and nothing changes.
     */
    post: operations['clear_payload'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/collections/{collection_name}/points/batch': {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
      };
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Runs several changes in their order, all or nothing together
     * @description A later change sees what an earlier one did. After an error nothing of the request is visible.
     */
    post: operations['batch_update'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/collections/{collection_name}/index': {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
      };
      cookie?: never;
    };
    get?: never;
    /**
     * Indexes a payload field
     * @description Usable at once, built in the background. The same definition again changes nothing, another replaces it.
     */
    put: operations['create_field_index'];
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/collections/{collection_name}/index/{field_name}': {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
      };
      cookie?: never;
    };
    get?: never;
    put?: never;
    post?: never;
    /**
     * Removes a field's index
     * @description Removing one that is not there changes nothing.
     */
    delete: operations['delete_field_index'];
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/collections/{collection_name}/points/search': {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
      };
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Finds the points nearest to a vector
     * @description With a filter, only points that match it are found.
     */
    post: operations['search_points'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/collections/{collection_name}/points/search/batch': {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
      };
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Runs several searches at once
     * @description Takes less time than one request each. One bad search fails the request.
     */
    post: operations['search_batch_points'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/collections/{collection_name}/points/query': {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
      };
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Runs the universal query
     * @description Nearest to a vector or a point, recommendation, discovery, fusion of several prefetches, a formula over their
     *     scores and the payload, ordering by a field, or a sample. Without `query` and `prefetch` it scrolls by id.
     */
    post: operations['query_points'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/collections/{collection_name}/points/query/batch': {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
      };
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Runs several queries at once
     * @description Takes less time than one request each. One bad query fails the request.
     */
    post: operations['query_batch_points'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/collections/{collection_name}/points/scroll': {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
      };
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Reads points page by page, by id or by a field
     * @description `next_page_offset` is the `offset` of the next page, or null after the last one.
     */
    post: operations['scroll_points'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/collections/{collection_name}/points/count': {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
      };
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Counts points
     * @description Without a body, or without a filter, every point counts.
     */
    post: operations['count_points'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/aliases': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    /**
     * List the aliases of all collections
     * @description Answers 501.
     */
    get: operations['get_collections_aliases'];
    put?: never;
    /**
     * Change aliases
     * @description Answers 501.
     */
    post: operations['change_aliases'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/collections/aliases': {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Change aliases where Qdrant's clients do
     * @description Answers 501.
     */
    post: operations['update_aliases'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/collections/{collection_name}/aliases': {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
      };
      cookie?: never;
    };
    /**
     * List the aliases of a collection
     * @description Answers 501.
     */
    get: operations['get_collection_aliases'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/collections/{collection_name}/snapshots': {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
      };
      cookie?: never;
    };
    /**
     * List snapshots
     * @description Answers 501.
     */
    get: operations['list_snapshots'];
    put?: never;
    /**
     * Create a snapshot
     * @description Answers 501. `kithdb backup` copies the data of a running server.
     */
    post: operations['create_snapshot'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/collections/{collection_name}/snapshots/{snapshot_name}': {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
        /**
         * @description A snapshot's name.
         * @example nightly
         */
        snapshot_name: components['parameters']['Snapshot'];
      };
      cookie?: never;
    };
    get?: never;
    put?: never;
    post?: never;
    /**
     * Delete a snapshot
     * @description Answers 501.
     */
    delete: operations['delete_snapshot'];
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/collections/{collection_name}/snapshots/{snapshot_name}/recover': {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
        /**
         * @description A snapshot's name.
         * @example nightly
         */
        snapshot_name: components['parameters']['Snapshot'];
      };
      cookie?: never;
    };
    get?: never;
    /**
     * Recover a collection from a snapshot
     * @description Answers 501. `kithdb restore` brings a backup back.
     */
    put: operations['recover_snapshot'];
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/collections/{collection_name}/operations/flush': {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
      };
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Write everything to disk
     * @description Answers 501. A write is on the disk when it is answered.
     */
    post: operations['flush_collection'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/collections/{collection_name}/operations/optimize': {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
      };
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Optimise a collection now
     * @description Answers 501. Collections are optimised in the background.
     */
    post: operations['optimize_collection'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/collections/{collection_name}/operations/rebuild_index': {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
      };
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Build a collection's index again
     * @description Answers 501.
     */
    post: operations['rebuild_index'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/collections/{collection_name}/status': {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
      };
      cookie?: never;
    };
    /**
     * Describe the state of a collection
     * @description Answers 501. The collection's description has its status.
     */
    get: operations['get_collection_status'];
    put?: never;
    post?: never;
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/collections/{collection_name}/points/search/groups': {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
      };
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Search with hits grouped by a field
     * @description Answers 501.
     */
    post: operations['search_point_groups'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/collections/{collection_name}/points/query/groups': {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
      };
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Query with hits grouped by a field
     * @description Answers 501.
     */
    post: operations['query_points_groups'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/collections/{collection_name}/points/recommend': {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
      };
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Recommend; use `/points/query`
     * @description Answers 501. `POST /collections/{collection_name}/points/query` recommends.
     */
    post: operations['recommend_points'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/collections/{collection_name}/points/recommend/batch': {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
      };
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Recommend; use `/points/query/batch`
     * @description Answers 501. `POST /collections/{collection_name}/points/query/batch` recommends.
     */
    post: operations['recommend_batch_points'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/collections/{collection_name}/points/recommend/groups': {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
      };
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Recommend with hits grouped by a field
     * @description Answers 501.
     */
    post: operations['recommend_point_groups'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/collections/{collection_name}/points/discover': {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
      };
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Discover; use `/points/query`
     * @description Answers 501. `POST /collections/{collection_name}/points/query` discovers.
     */
    post: operations['discover_points'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
  '/collections/{collection_name}/points/discover/batch': {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
      };
      cookie?: never;
    };
    get?: never;
    put?: never;
    /**
     * Discover; use `/points/query/batch`
     * @description Answers 501. `POST /collections/{collection_name}/points/query/batch` discovers.
     */
    post: operations['discover_batch_points'];
    delete?: never;
    options?: never;
    head?: never;
    patch?: never;
    trace?: never;
  };
}
export type webhooks = Record<string, never>;
export interface components {
  schemas: {
    /** @description Seconds that the server worked on the request. */
    Seconds: number;
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
    };
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
    /** @description An unsigned 64-bit integer, or a UUID in hyphenated, simple or URN form. */
    PointId: (number | bigint) | components['schemas']['Uuid'];
    /** @description A UUID in hyphenated, simple or URN form. */
    Uuid: string;
    /** @description A number within the range of 32-bit floats. */
    Float32: number;
    /** @description As many numbers as the vector's `size`. */
    DenseVector: components['schemas']['Float32'][];
    /** @description Rows of one length. */
    MultiVector: components['schemas']['DenseVector'][];
    /** @description As many values as indices; the indices are distinct. */
    SparseVector: {
      /** @description The positions of the components that are not 0. */
      indices: number[];
      /** @description The components at these positions. */
      values: components['schemas']['Float32'][];
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
    /**
     * @description How two vectors are compared. `Cosine` and `Dot` are similarities, `Euclid` and `Manhattan` distances.
     * @enum {unknown}
     */
    Distance: 'Cosine' | 'Euclid' | 'Dot' | 'Manhattan';
    /**
     * @description How components are stored; `float32` when absent.
     * @enum {unknown}
     */
    Datatype: 'float32' | 'float16' | 'uint8' | null;
    /** @description The graph over the vectors. What is absent keeps its default, in a change its value. */
    HnswConfig: {
      /** @description Links of a node; 0 for no graph. */
      m?: number | null;
      /** @description Candidates that are kept while a node is inserted. */
      ef_construct?: number | null;
      /** @description Candidates that a search keeps when it does not say. */
      ef_search?: number | null;
      /** @description In KB of vectors. */
      full_scan_threshold?: number | null;
      /**
       * @deprecated
       * @description The same as `full_scan_threshold`.
       */
      full_scan_threshold_kb?: number | null;
      /** @description Threads that index this collection at a time; 0 for the server's choice. */
      max_indexing_threads?: number | null;
      /** @description Stored and shown, without effect. The graph stays in memory. */
      on_disk?: boolean | null;
      /** @description Stored and shown, without effect. Filtered searches need no extra links. */
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
            /** @description Stored and shown. Codes are always in memory. */
            always_ram?: boolean | null;
          };
          /** @description Absent or null beside `scalar`. */
          product?: null;
          /** @description Absent or null beside `scalar`. */
          binary?: null;
        }
      | {
          /** @description Product quantisation. */
          product: {
            /**
             * @description How many times shorter a code is than 32-bit floats.
             * @enum {unknown}
             */
            compression: 'x4' | 'x8' | 'x16' | 'x32' | 'x64';
            /** @description Stored and shown. Codes are always in memory. */
            always_ram?: boolean | null;
          };
          /** @description Absent or null beside `product`. */
          scalar?: null;
          /** @description Absent or null beside `product`. */
          binary?: null;
        }
      | {
          /** @description One or two bits a component. */
          binary: {
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
        /** @description Whether the original vectors may leave memory. With false they stay in it; when absent the system decides by use. */
        on_disk?: boolean | null;
        datatype?: components['schemas']['Datatype'];
      } | null;
      /**
       * @description `idf` multiplies the weights of a query with the inverse document frequency of their index.
       * @enum {unknown}
       */
      modifier?: 'none' | 'idf' | null;
    } | null;
    /** @description Sparse vectors by name. */
    SparseVectorsConfig: {
      [key: string]: components['schemas']['SparseVectorParams'];
    } | null;
    /** @description Kept and shown; not enforced. */
    StrictModeConfig: {
      /**
       * @description Limits cannot be enforced yet, so true is a 400.
       * @enum {unknown}
       */
      enabled?: false | null;
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
      /** @description Bytes of vectors of the collection. */
      max_collection_vector_size_bytes?: number | null;
      /** @description Bytes of payloads of the collection. */
      max_collection_payload_size_bytes?: number | null;
      /** @description Reads a minute. */
      read_rate_limit?: number | null;
      /** @description Writes a minute. */
      write_rate_limit?: number | null;
      /** @description Points of the collection. */
      max_points_count?: number | null;
      /** @description Conditions of a filter. */
      filter_max_conditions?: number | null;
      /** @description Values of a condition. */
      condition_max_size?: number | null;
      /** @description Limits of multi-vectors by name. */
      multivector_config?: {
        [key: string]: Record<string, never>;
      } | null;
      /** @description Limits of sparse vectors by name. */
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
      /** @description Stored and shown; false is without effect. */
      on_disk_payload?: boolean | null;
      /** @description Any JSON object of the user's own. */
      metadata?: {
        [key: string]: unknown;
      } | null;
      strict_mode_config?: components['schemas']['StrictModeConfig'];
      /** @description Stored and shown, without effect on one node. */
      shard_number?: number | null;
      /**
       * @description Only `auto`.
       * @enum {unknown}
       */
      sharding_method?: 'auto' | null;
      /** @description Stored and shown, without effect on one node. */
      replication_factor?: number | null;
      /** @description Stored and shown, without effect on one node. */
      write_consistency_factor?: number | null;
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
          /** @description Whether the original vectors may leave memory. */
          on_disk?: boolean | null;
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
        /** @description Stored and shown; false is without effect. */
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
      /** @description Vectors that do not await indexing. */
      indexed_vectors_count: number;
      /** @description Points of the collection. */
      points_count: number;
      /** @description Always 1; 0 when the collection cannot be opened. */
      segments_count: number;
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
      /** @description A language, or languages and words of one's own. */
      stopwords?:
        | components['schemas']['StopWordLanguage']
        | null
        | {
            /** @description Languages whose stop words are left out. */
            languages?: components['schemas']['StopWordLanguage'][] | null;
            /** @description Further words that are left out. */
            custom?: string[] | null;
          };
      /** @description Reduces words to their stems. */
      stemmer?: {
        /**
         * @description Always `snowball`.
         * @constant
         */
        type: 'snowball';
        language: components['schemas']['StemmerLanguage'];
      } | null;
      /** @description Stored and shown, without effect. */
      on_disk?: boolean | null;
      /** @description Stored and shown, without effect. */
      enable_hnsw?: boolean | null;
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
    }[];
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
    /** @description The vectors to replace. */
    UpdateVectors: {
      points: components['schemas']['PointVectorList'];
      update_filter?: components['schemas']['MaybeFilter'];
      shard_key?: components['schemas']['ShardKey'];
    };
    /** @description Points with the vectors that they get. */
    PointVectorList: {
      id: components['schemas']['PointId'];
      vector?: components['schemas']['PointVectors'];
      /** @deprecated */
      vectors?: components['schemas']['PointVectors'];
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
      payload: components['schemas']['Payload'];
      key?: components['schemas']['Path'] | null;
    };
    /** @description The paths to remove, and from which points. */
    DeletePayload: {
      points?: components['schemas']['PointIds'];
      filter?: components['schemas']['MaybeFilter'];
      shard_key?: components['schemas']['ShardKey'];
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
          clear_payload: components['schemas']['SelectPoints'];
        }
      | {
          update_vectors: components['schemas']['UpdateVectors'];
        }
      | {
          delete_vectors: components['schemas']['DeleteVectors'];
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
      /** @description Without effect; the planner decides. */
      acorn?: {
        /** @description Without effect. */
        enable?: boolean | null;
        /** @description Without effect. */
        max_selectivity?: number | null;
      } | null;
    } | null;
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
      limit?: components['schemas']['Limit'];
      /** @description The first id of the page. Not together with `order_by`. */
      offset?: components['schemas']['PointId'] | null;
      /** @description Orders by a field instead of the id. */
      order_by?: components['schemas']['OrderBy'] | null;
      with_payload?: components['schemas']['WithPayload'];
      with_vector?: components['schemas']['WithVector'];
      /** @deprecated */
      with_vectors?: components['schemas']['WithVector'];
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
      limit?: components['schemas']['Limit'];
      offset?: components['schemas']['Offset'];
      with_payload?: components['schemas']['WithPayload'];
      with_vector?: components['schemas']['WithVector'];
      /** @deprecated */
      with_vectors?: components['schemas']['WithVector'];
      lookup_from?: components['schemas']['LookupFrom'];
      shard_key?: components['schemas']['ShardKey'];
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
      limit?: components['schemas']['Limit'];
      lookup_from?: components['schemas']['LookupFrom'];
      shard_key?: components['schemas']['ShardKey'];
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
      | components['schemas']['SampleQuery'];
    /** @description A vector, or the id of a point, which is left out of the result. */
    VectorInput:
      | components['schemas']['DenseVector']
      | components['schemas']['MultiVector']
      | components['schemas']['SparseVector']
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
      | components['schemas']['DenseVector']
      | components['schemas']['MultiVector']
      | {
          [key: string]:
            | components['schemas']['DenseVector']
            | components['schemas']['MultiVector']
            | components['schemas']['SparseVector'];
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
      /** @description Always empty. */
      usage: Record<string, never>;
      time: components['schemas']['Seconds'];
      /**
       * @description Always `ok`.
       * @constant
       */
      status: 'ok';
      /** @description Whether it is so, or was done. */
      result: boolean;
    };
    /** @description The envelope of a change. */
    UpdateAnswer: {
      /** @description Always empty. */
      usage: Record<string, never>;
      time: components['schemas']['Seconds'];
      /**
       * @description Always `ok`.
       * @constant
       */
      status: 'ok';
      result: components['schemas']['UpdateResult'];
    };
    /** @description The envelope of several changes. */
    UpdatesAnswer: {
      /** @description Always empty. */
      usage: Record<string, never>;
      time: components['schemas']['Seconds'];
      /**
       * @description Always `ok`.
       * @constant
       */
      status: 'ok';
      /** @description How far each change has come, in their order. */
      result: components['schemas']['UpdateResult'][];
    };
    /** @description The envelope of the collections. */
    CollectionsAnswer: {
      /** @description Always empty. */
      usage: Record<string, never>;
      time: components['schemas']['Seconds'];
      /**
       * @description Always `ok`.
       * @constant
       */
      status: 'ok';
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
      /** @description Always empty. */
      usage: Record<string, never>;
      time: components['schemas']['Seconds'];
      /**
       * @description Always `ok`.
       * @constant
       */
      status: 'ok';
      result: components['schemas']['CollectionInfo'];
    };
    /** @description The envelope of whether a collection exists. */
    ExistsAnswer: {
      /** @description Always empty. */
      usage: Record<string, never>;
      time: components['schemas']['Seconds'];
      /**
       * @description Always `ok`.
       * @constant
       */
      status: 'ok';
      /** @description Whether it exists. */
      result: {
        /** @description Whether there is a collection of that name. */
        exists: boolean;
      };
    };
    /** @description The envelope of points. */
    RecordsAnswer: {
      /** @description Always empty. */
      usage: Record<string, never>;
      time: components['schemas']['Seconds'];
      /**
       * @description Always `ok`.
       * @constant
       */
      status: 'ok';
      /** @description The points in the order of the ids. */
      result: components['schemas']['Record'][];
    };
    /** @description The envelope of a point. */
    RecordAnswer: {
      /** @description Always empty. */
      usage: Record<string, never>;
      time: components['schemas']['Seconds'];
      /**
       * @description Always `ok`.
       * @constant
       */
      status: 'ok';
      result: components['schemas']['Record'];
    };
    /** @description The envelope of a search. */
    HitsAnswer: {
      /** @description Always empty. */
      usage: Record<string, never>;
      time: components['schemas']['Seconds'];
      /**
       * @description Always `ok`.
       * @constant
       */
      status: 'ok';
      result: components['schemas']['Hits'];
    };
    /** @description The envelope of several searches. */
    HitListsAnswer: {
      /** @description Always empty. */
      usage: Record<string, never>;
      time: components['schemas']['Seconds'];
      /**
       * @description Always `ok`.
       * @constant
       */
      status: 'ok';
      /** @description The hits of each search, in their order. */
      result: components['schemas']['Hits'][];
    };
    /** @description The envelope of a query. */
    QueryAnswer: {
      /** @description Always empty. */
      usage: Record<string, never>;
      time: components['schemas']['Seconds'];
      /**
       * @description Always `ok`.
       * @constant
       */
      status: 'ok';
      result: components['schemas']['QueryResult'];
    };
    /** @description The envelope of several queries. */
    QueryAnswers: {
      /** @description Always empty. */
      usage: Record<string, never>;
      time: components['schemas']['Seconds'];
      /**
       * @description Always `ok`.
       * @constant
       */
      status: 'ok';
      /** @description What each query has found, in their order. */
      result: components['schemas']['QueryResult'][];
    };
    /** @description The envelope of a page. */
    PageAnswer: {
      /** @description Always empty. */
      usage: Record<string, never>;
      time: components['schemas']['Seconds'];
      /**
       * @description Always `ok`.
       * @constant
       */
      status: 'ok';
      /** @description The page. */
      result: {
        /** @description The points in their order. */
        points: components['schemas']['Record'][];
        next_page_offset: components['schemas']['PointId'] | null;
      };
    };
    /** @description The envelope of a count. */
    CountAnswer: {
      /** @description Always empty. */
      usage: Record<string, never>;
      time: components['schemas']['Seconds'];
      /**
       * @description Always `ok`.
       * @constant
       */
      status: 'ok';
      /** @description The count. */
      result: {
        /** @description How many points there are. */
        count: number;
      };
    };
  };
  responses: {
    /** @description The request is malformed. The message names the place. */
    BadRequest: {
      headers: {
        'X-Request-Id': components['headers']['RequestId'];
        [name: string]: unknown;
      };
      content: {
        /**
         * @example {
         *       "time": 0.00021,
         *       "status": {
         *         "error": "Dimension mismatch for vector '': expected 4, got 3"
         *       }
         *     }
         */
        'application/json': components['schemas']['Error'];
      };
    };
    /** @description No credential, or none that is valid. */
    Unauthorized: {
      headers: {
        'X-Request-Id': components['headers']['RequestId'];
        'WWW-Authenticate': components['headers']['Authenticate'];
        [name: string]: unknown;
      };
      content: {
        /**
         * @example {
         *       "time": 0.0001,
         *       "status": {
         *         "error": "Invalid or missing authorization token"
         *       }
         *     }
         */
        'application/json': components['schemas']['Error'];
      };
    };
    /** @description The credential lacks the permission, or the request comes from where it may not. */
    Forbidden: {
      headers: {
        'X-Request-Id': components['headers']['RequestId'];
        [name: string]: unknown;
      };
      content: {
        /**
         * @example {
         *       "time": 0.0001,
         *       "status": {
         *         "error": "Permission denied: write required"
         *       }
         *     }
         */
        'application/json': components['schemas']['Error'];
      };
    };
    /** @description There is no such collection, or no such point. */
    NotFound: {
      headers: {
        'X-Request-Id': components['headers']['RequestId'];
        [name: string]: unknown;
      };
      content: {
        /**
         * @example {
         *       "time": 0.0001,
         *       "status": {
         *         "error": "Collection not found: articles"
         *       }
         *     }
         */
        'application/json': components['schemas']['Error'];
      };
    };
    /** @description The request's deadline has passed, or its body did not arrive in time. */
    Timeout: {
      headers: {
        'X-Request-Id': components['headers']['RequestId'];
        [name: string]: unknown;
      };
      content: {
        'application/json': components['schemas']['Error'];
      };
    };
    /** @description There is a collection of that name. */
    Conflict: {
      headers: {
        'X-Request-Id': components['headers']['RequestId'];
        [name: string]: unknown;
      };
      content: {
        /**
         * @example {
         *       "time": 0.0001,
         *       "status": {
         *         "error": "Collection already exists: articles"
         *       }
         *     }
         */
        'application/json': components['schemas']['Error'];
      };
    };
    /**
     * @description The engine is not open yet: come back after half a second, then twice as long, five times at most. Or the
     *     collection is being deleted.
     */
    NotReady: {
      headers: {
        'X-Request-Id': components['headers']['RequestId'];
        'Retry-After': components['headers']['MayRetryAfter'];
        [name: string]: unknown;
      };
      content: {
        /**
         * @example {
         *       "time": 0.0001,
         *       "status": {
         *         "error": "Engine not initialized"
         *       }
         *     }
         */
        'application/json': components['schemas']['Error'];
      };
    };
    /** @description The body is larger than the server takes. */
    TooLarge: {
      headers: {
        'X-Request-Id': components['headers']['RequestId'];
        [name: string]: unknown;
      };
      content: {
        'application/json': components['schemas']['Error'];
      };
    };
    /** @description The body is not said to be JSON, or it is compressed. */
    NotJson: {
      headers: {
        'X-Request-Id': components['headers']['RequestId'];
        [name: string]: unknown;
      };
      content: {
        'application/json': components['schemas']['Error'];
      };
    };
    /** @description Too much is in progress. */
    Busy: {
      headers: {
        'X-Request-Id': components['headers']['RequestId'];
        'Retry-After': components['headers']['RetryAfter'];
        [name: string]: unknown;
      };
      content: {
        'application/json': components['schemas']['Error'];
      };
    };
    /** @description The operation failed. The message names it. */
    InternalError: {
      headers: {
        'X-Request-Id': components['headers']['RequestId'];
        [name: string]: unknown;
      };
      content: {
        'application/json': components['schemas']['Error'];
      };
    };
    /** @description This build does not have the endpoint. */
    NotImplemented: {
      headers: {
        'X-Request-Id': components['headers']['RequestId'];
        [name: string]: unknown;
      };
      content: {
        /**
         * @example {
         *       "time": 0.0001,
         *       "status": {
         *         "error": "Not implemented in this build: aliases"
         *       }
         *     }
         */
        'application/json': components['schemas']['Error'];
      };
    };
    /** @description The server is shutting down. */
    ShuttingDown: {
      headers: {
        'X-Request-Id': components['headers']['RequestId'];
        'Retry-After': components['headers']['RetryAfter'];
        [name: string]: unknown;
      };
      content: {
        'application/json': components['schemas']['Error'];
      };
    };
    /** @description The disk or the memory budget refuses the write. Reads and deletes go on. */
    Full: {
      headers: {
        'X-Request-Id': components['headers']['RequestId'];
        'Retry-After': components['headers']['RetryAfter'];
        [name: string]: unknown;
      };
      content: {
        /**
         * @example {
         *       "time": 0.0001,
         *       "status": {
         *         "error": "Upsert failed: storage full"
         *       }
         *     }
         */
        'application/json': components['schemas']['Error'];
      };
    };
    /** @description The request is malformed. */
    AuthBadRequest: {
      headers: {
        'X-Request-Id': components['headers']['RequestId'];
        [name: string]: unknown;
      };
      content: {
        /**
         * @example {
         *       "status": "error",
         *       "message": "Missing required field: password"
         *     }
         */
        'application/json': components['schemas']['AuthError'];
      };
    };
    /** @description No credential, or none that is valid. */
    AuthUnauthorized: {
      headers: {
        'X-Request-Id': components['headers']['RequestId'];
        'WWW-Authenticate': components['headers']['Authenticate'];
        [name: string]: unknown;
      };
      content: {
        'application/json': components['schemas']['AuthError'];
      };
    };
    /** @description The credential lacks the permission, or the request comes from where it may not. */
    AuthForbidden: {
      headers: {
        'X-Request-Id': components['headers']['RequestId'];
        [name: string]: unknown;
      };
      content: {
        'application/json': components['schemas']['AuthError'];
      };
    };
    /** @description There is no such token, or no admin. */
    AuthNotFound: {
      headers: {
        'X-Request-Id': components['headers']['RequestId'];
        [name: string]: unknown;
      };
      content: {
        'application/json': components['schemas']['AuthError'];
      };
    };
    /** @description There is an admin. */
    AuthConflict: {
      headers: {
        'X-Request-Id': components['headers']['RequestId'];
        [name: string]: unknown;
      };
      content: {
        /**
         * @example {
         *       "status": "error",
         *       "message": "Username already exists"
         *     }
         */
        'application/json': components['schemas']['AuthError'];
      };
    };
    /** @description The disk refuses the write, so nothing has changed. A token that was to be deleted or rotated is still good. */
    AuthFull: {
      headers: {
        'X-Request-Id': components['headers']['RequestId'];
        'Retry-After': components['headers']['RetryAfter'];
        [name: string]: unknown;
      };
      content: {
        /**
         * @example {
         *       "status": "error",
         *       "message": "Authentication operation failed: storage full"
         *     }
         */
        'application/json': components['schemas']['AuthError'];
      };
    };
    /** @description The body is larger than an endpoint under `/auth` takes. */
    AuthTooLarge: {
      headers: {
        'X-Request-Id': components['headers']['RequestId'];
        [name: string]: unknown;
      };
      content: {
        'application/json': components['schemas']['AuthError'];
      };
    };
    /** @description The body is not said to be JSON, or it is compressed. */
    AuthNotJson: {
      headers: {
        'X-Request-Id': components['headers']['RequestId'];
        [name: string]: unknown;
      };
      content: {
        'application/json': components['schemas']['AuthError'];
      };
    };
    /** @description Too many failed logins, or too many passwords to check at once. */
    AuthBusy: {
      headers: {
        'X-Request-Id': components['headers']['RequestId'];
        'Retry-After': components['headers']['RetryAfter'];
        [name: string]: unknown;
      };
      content: {
        'application/json': components['schemas']['AuthError'];
      };
    };
    /** @description The operation failed. */
    AuthInternalError: {
      headers: {
        'X-Request-Id': components['headers']['RequestId'];
        [name: string]: unknown;
      };
      content: {
        'application/json': components['schemas']['AuthError'];
      };
    };
    /** @description The server is shutting down. */
    AuthShuttingDown: {
      headers: {
        'X-Request-Id': components['headers']['RequestId'];
        'Retry-After': components['headers']['RetryAfter'];
        [name: string]: unknown;
      };
      content: {
        'application/json': components['schemas']['AuthError'];
      };
    };
    /** @description It is done. */
    AuthDone: {
      headers: {
        'X-Request-Id': components['headers']['RequestId'];
        [name: string]: unknown;
      };
      content: {
        /**
         * @example {
         *       "status": "success",
         *       "message": "Access token deleted successfully"
         *     }
         */
        'application/json': {
          /**
           * @description Always `success`.
           * @constant
           */
          status: 'success';
          /** @description One sentence that says what was done. */
          message: string;
        };
      };
    };
    /** @description The token with its value. */
    IssuedToken: {
      headers: {
        'X-Request-Id': components['headers']['RequestId'];
        [name: string]: unknown;
      };
      content: {
        'application/json': components['schemas']['IssuedAccessToken'];
      };
    };
    /** @description Yes. */
    Health: {
      headers: {
        'X-Request-Id': components['headers']['RequestId'];
        [name: string]: unknown;
      };
      content: {
        'application/json': {
          /**
           * @description Always `ok`.
           * @constant
           */
          status: 'ok';
        };
      };
    };
    /** @description Not now. */
    NotServing: {
      headers: {
        'X-Request-Id': components['headers']['RequestId'];
        'Retry-After': components['headers']['RetryAfter'];
        [name: string]: unknown;
      };
      content: {
        'application/json': {
          /**
           * @description Why data endpoints are not served.
           * @enum {unknown}
           */
          status: 'starting' | 'stopping' | 'closed';
        };
      };
    };
    /** @description What came of it. */
    Boolean: {
      headers: {
        'X-Request-Id': components['headers']['RequestId'];
        [name: string]: unknown;
      };
      content: {
        'application/json': components['schemas']['BooleanAnswer'];
      };
    };
    /** @description How far the change has come. */
    Updated: {
      headers: {
        'X-Request-Id': components['headers']['RequestId'];
        [name: string]: unknown;
      };
      content: {
        'application/json': components['schemas']['UpdateAnswer'];
      };
    };
  };
  parameters: {
    /**
     * @description The collection's name.
     * @example articles
     */
    Collection: string;
    /**
     * @description The collection's name: not `.` or `..`, no control characters and none of `/ \ < > : " | ? *`, no space at
     *     either end. It never becomes a path of the file system.
     * @example articles
     */
    NewCollection: components['schemas']['CollectionName'];
    /**
     * @description An unsigned integer or a UUID.
     * @example 1
     */
    PointId: components['schemas']['PointId'];
    /**
     * @description A path into the payload.
     * @example year
     */
    Field: string;
    /**
     * @description A snapshot's name.
     * @example nightly
     */
    Snapshot: string;
    /**
     * @description The token's id.
     * @example 1
     */
    TokenId: number;
    /**
     * @description With true the answer comes when the change is durable and visible to the next read; with false when it is
     *     durable.
     */
    Wait: boolean;
    /** @description Without effect on one node. */
    Ordering: 'weak' | 'medium' | 'strong';
    /** @description Without effect on one node. */
    Consistency: number | ('majority' | 'quorum' | 'all' | '');
    /** @description Seconds until the request is given up with a 408. */
    Timeout: number;
  };
  requestBodies: {
    NewPassword: {
      content: {
        'application/json': {
          /**
           * @description At least 12 characters, with an upper-case letter, a lower-case letter, a digit and a special
           *     character; not the user name; at most 1024 bytes.
           */
          password: string;
        };
      };
    };
  };
  headers: {
    /** @description The request's id. */
    RequestId: string;
    /** @description Whole seconds after which to come back. */
    RetryAfter: number;
    /** @description Whole seconds after which to come back, while the engine is starting. */
    MayRetryAfter: number;
    /** @description The scheme to authenticate with. */
    Authenticate: 'Bearer';
  };
  pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
  root: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The service answers, in whatever state it is. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['RequestId'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['Welcome'];
        };
      };
      400: components['responses']['BadRequest'];
    };
  };
  livez: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      200: components['responses']['Health'];
      400: components['responses']['BadRequest'];
    };
  };
  readyz: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      200: components['responses']['Health'];
      400: components['responses']['BadRequest'];
      503: components['responses']['NotServing'];
    };
  };
  healthz: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      200: components['responses']['Health'];
      400: components['responses']['BadRequest'];
    };
  };
  get_openapi: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description This document. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['RequestId'];
          [name: string]: unknown;
        };
        content: {
          'application/json': {
            /** @description The version of OpenAPI. */
            openapi: string;
            /** @description Name, version and what holds for every endpoint. */
            info: Record<string, never>;
            /** @description The endpoints by path and method. */
            paths: Record<string, never>;
          } & {
            [key: string]: unknown;
          };
        };
      };
      400: components['responses']['BadRequest'];
    };
  };
  metrics: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The metrics. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['RequestId'];
          [name: string]: unknown;
        };
        content: {
          'text/plain': string;
        };
      };
      400: components['responses']['BadRequest'];
      401: components['responses']['Unauthorized'];
      403: components['responses']['Forbidden'];
      500: components['responses']['InternalError'];
      503: components['responses']['ShuttingDown'];
    };
  };
  admin_exists: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      200: components['responses']['Boolean'];
      400: components['responses']['AuthBadRequest'];
      403: components['responses']['AuthForbidden'];
      413: components['responses']['AuthTooLarge'];
      429: components['responses']['AuthBusy'];
      500: components['responses']['AuthInternalError'];
      503: components['responses']['AuthShuttingDown'];
      507: components['responses']['AuthFull'];
    };
  };
  create_admin: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody: components['requestBodies']['NewPassword'];
    responses: {
      200: components['responses']['AuthDone'];
      400: components['responses']['AuthBadRequest'];
      403: components['responses']['AuthForbidden'];
      409: components['responses']['AuthConflict'];
      413: components['responses']['AuthTooLarge'];
      415: components['responses']['AuthNotJson'];
      429: components['responses']['AuthBusy'];
      500: components['responses']['AuthInternalError'];
      503: components['responses']['AuthShuttingDown'];
      507: components['responses']['AuthFull'];
    };
  };
  reset_admin_password: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody: components['requestBodies']['NewPassword'];
    responses: {
      200: components['responses']['AuthDone'];
      400: components['responses']['AuthBadRequest'];
      401: components['responses']['AuthUnauthorized'];
      403: components['responses']['AuthForbidden'];
      404: components['responses']['AuthNotFound'];
      413: components['responses']['AuthTooLarge'];
      415: components['responses']['AuthNotJson'];
      429: components['responses']['AuthBusy'];
      500: components['responses']['AuthInternalError'];
      503: components['responses']['AuthShuttingDown'];
      507: components['responses']['AuthFull'];
    };
  };
  login: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json': {
          /** @description Not blank. */
          password: string;
        };
      };
    };
    responses: {
      /** @description The JWT, and for how many seconds it is good. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['RequestId'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['LoginResult'];
        };
      };
      400: components['responses']['AuthBadRequest'];
      /** @description The wrong password, or there is no admin. */
      401: {
        headers: {
          'X-Request-Id': components['headers']['RequestId'];
          [name: string]: unknown;
        };
        content: {
          /**
           * @example {
           *       "token": null,
           *       "message": "Invalid username or password",
           *       "expires_in": 0
           *     }
           */
          'application/json': components['schemas']['LoginResult'];
        };
      };
      403: components['responses']['AuthForbidden'];
      413: components['responses']['AuthTooLarge'];
      415: components['responses']['AuthNotJson'];
      429: components['responses']['AuthBusy'];
      500: components['responses']['AuthInternalError'];
      503: components['responses']['AuthShuttingDown'];
      507: components['responses']['AuthFull'];
    };
  };
  set_auth_enabled: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json': {
          /** @description Whether credentials are needed from now on. */
          enabled: boolean;
        };
      };
    };
    responses: {
      200: components['responses']['Boolean'];
      400: components['responses']['AuthBadRequest'];
      401: components['responses']['AuthUnauthorized'];
      403: components['responses']['AuthForbidden'];
      413: components['responses']['AuthTooLarge'];
      415: components['responses']['AuthNotJson'];
      429: components['responses']['AuthBusy'];
      500: components['responses']['AuthInternalError'];
      503: components['responses']['AuthShuttingDown'];
      507: components['responses']['AuthFull'];
    };
  };
  list_access_tokens: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Every token that was not deleted, expired ones included. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['RequestId'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['AccessToken'][];
        };
      };
      400: components['responses']['AuthBadRequest'];
      401: components['responses']['AuthUnauthorized'];
      403: components['responses']['AuthForbidden'];
      413: components['responses']['AuthTooLarge'];
      429: components['responses']['AuthBusy'];
      500: components['responses']['AuthInternalError'];
      503: components['responses']['AuthShuttingDown'];
      507: components['responses']['AuthFull'];
    };
  };
  create_access_token: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json': components['schemas']['NewAccessToken'];
      };
    };
    responses: {
      200: components['responses']['IssuedToken'];
      400: components['responses']['AuthBadRequest'];
      401: components['responses']['AuthUnauthorized'];
      403: components['responses']['AuthForbidden'];
      413: components['responses']['AuthTooLarge'];
      415: components['responses']['AuthNotJson'];
      429: components['responses']['AuthBusy'];
      500: components['responses']['AuthInternalError'];
      503: components['responses']['AuthShuttingDown'];
      507: components['responses']['AuthFull'];
    };
  };
  rotate_access_token: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The token's id.
         * @example 1
         */
        id: components['parameters']['TokenId'];
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      200: components['responses']['IssuedToken'];
      400: components['responses']['AuthBadRequest'];
      401: components['responses']['AuthUnauthorized'];
      403: components['responses']['AuthForbidden'];
      404: components['responses']['AuthNotFound'];
      413: components['responses']['AuthTooLarge'];
      429: components['responses']['AuthBusy'];
      500: components['responses']['AuthInternalError'];
      503: components['responses']['AuthShuttingDown'];
      507: components['responses']['AuthFull'];
    };
  };
  delete_access_token: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The token's id.
         * @example 1
         */
        id: components['parameters']['TokenId'];
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      200: components['responses']['AuthDone'];
      400: components['responses']['AuthBadRequest'];
      401: components['responses']['AuthUnauthorized'];
      403: components['responses']['AuthForbidden'];
      404: components['responses']['AuthNotFound'];
      413: components['responses']['AuthTooLarge'];
      429: components['responses']['AuthBusy'];
      500: components['responses']['AuthInternalError'];
      503: components['responses']['AuthShuttingDown'];
      507: components['responses']['AuthFull'];
    };
  };
  get_collections: {
    parameters: {
      query?: {
        /** @description Seconds until the request is given up with a 408. */
        timeout?: components['parameters']['Timeout'];
      };
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The names. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['RequestId'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['CollectionsAnswer'];
        };
      };
      400: components['responses']['BadRequest'];
      401: components['responses']['Unauthorized'];
      403: components['responses']['Forbidden'];
      408: components['responses']['Timeout'];
      412: components['responses']['NotReady'];
      413: components['responses']['TooLarge'];
      429: components['responses']['Busy'];
      500: components['responses']['InternalError'];
      503: components['responses']['ShuttingDown'];
    };
  };
  get_collection: {
    parameters: {
      query?: {
        /** @description Seconds until the request is given up with a 408. */
        timeout?: components['parameters']['Timeout'];
      };
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Its state, its counts, and its configuration with the effective values. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['RequestId'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['CollectionInfoAnswer'];
        };
      };
      400: components['responses']['BadRequest'];
      401: components['responses']['Unauthorized'];
      403: components['responses']['Forbidden'];
      404: components['responses']['NotFound'];
      408: components['responses']['Timeout'];
      412: components['responses']['NotReady'];
      413: components['responses']['TooLarge'];
      429: components['responses']['Busy'];
      500: components['responses']['InternalError'];
      503: components['responses']['ShuttingDown'];
    };
  };
  create_collection: {
    parameters: {
      query?: {
        /** @description Seconds until the request is given up with a 408. */
        timeout?: components['parameters']['Timeout'];
      };
      header?: never;
      path: {
        /**
         * @description The collection's name: not `.` or `..`, no control characters and none of `/ \ < > : " | ? *`, no space at
         *     either end. It never becomes a path of the file system.
         * @example articles
         */
        collection_name: components['parameters']['NewCollection'];
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json': components['schemas']['CreateCollection'];
      };
    };
    responses: {
      200: components['responses']['Boolean'];
      400: components['responses']['BadRequest'];
      401: components['responses']['Unauthorized'];
      403: components['responses']['Forbidden'];
      408: components['responses']['Timeout'];
      409: components['responses']['Conflict'];
      412: components['responses']['NotReady'];
      413: components['responses']['TooLarge'];
      415: components['responses']['NotJson'];
      429: components['responses']['Busy'];
      500: components['responses']['InternalError'];
      503: components['responses']['ShuttingDown'];
      507: components['responses']['Full'];
    };
  };
  delete_collection: {
    parameters: {
      query?: {
        /** @description Seconds until the request is given up with a 408. */
        timeout?: components['parameters']['Timeout'];
      };
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      200: components['responses']['Boolean'];
      400: components['responses']['BadRequest'];
      401: components['responses']['Unauthorized'];
      403: components['responses']['Forbidden'];
      408: components['responses']['Timeout'];
      412: components['responses']['NotReady'];
      413: components['responses']['TooLarge'];
      429: components['responses']['Busy'];
      500: components['responses']['InternalError'];
      503: components['responses']['ShuttingDown'];
      507: components['responses']['Full'];
    };
  };
  update_collection: {
    parameters: {
      query?: {
        /** @description Seconds until the request is given up with a 408. */
        timeout?: components['parameters']['Timeout'];
      };
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json': components['schemas']['UpdateCollection'];
      };
    };
    responses: {
      200: components['responses']['Boolean'];
      400: components['responses']['BadRequest'];
      401: components['responses']['Unauthorized'];
      403: components['responses']['Forbidden'];
      404: components['responses']['NotFound'];
      408: components['responses']['Timeout'];
      412: components['responses']['NotReady'];
      413: components['responses']['TooLarge'];
      415: components['responses']['NotJson'];
      429: components['responses']['Busy'];
      500: components['responses']['InternalError'];
      503: components['responses']['ShuttingDown'];
      507: components['responses']['Full'];
    };
  };
  collection_exists: {
    parameters: {
      query?: {
        /** @description Seconds until the request is given up with a 408. */
        timeout?: components['parameters']['Timeout'];
      };
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description Whether it exists. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['RequestId'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['ExistsAnswer'];
        };
      };
      400: components['responses']['BadRequest'];
      401: components['responses']['Unauthorized'];
      403: components['responses']['Forbidden'];
      408: components['responses']['Timeout'];
      412: components['responses']['NotReady'];
      413: components['responses']['TooLarge'];
      429: components['responses']['Busy'];
      500: components['responses']['InternalError'];
      503: components['responses']['ShuttingDown'];
    };
  };
  upsert_points: {
    parameters: {
      query?: {
        /**
         * @description With true the answer comes when the change is durable and visible to the next read; with false when it is
         *     durable.
         */
        wait?: components['parameters']['Wait'];
        /** @description Without effect on one node. */
        ordering?: components['parameters']['Ordering'];
        /** @description Seconds until the request is given up with a 408. */
        timeout?: components['parameters']['Timeout'];
      };
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json': components['schemas']['UpsertPoints'];
      };
    };
    responses: {
      200: components['responses']['Updated'];
      400: components['responses']['BadRequest'];
      401: components['responses']['Unauthorized'];
      403: components['responses']['Forbidden'];
      404: components['responses']['NotFound'];
      408: components['responses']['Timeout'];
      412: components['responses']['NotReady'];
      413: components['responses']['TooLarge'];
      415: components['responses']['NotJson'];
      429: components['responses']['Busy'];
      500: components['responses']['InternalError'];
      503: components['responses']['ShuttingDown'];
      507: components['responses']['Full'];
    };
  };
  get_points: {
    parameters: {
      query?: {
        /** @description Without effect on one node. */
        consistency?: components['parameters']['Consistency'];
        /** @description Seconds until the request is given up with a 408. */
        timeout?: components['parameters']['Timeout'];
      };
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json': components['schemas']['RetrievePoints'];
      };
    };
    responses: {
      /** @description The points. An id that is absent is a 404. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['RequestId'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['RecordsAnswer'];
        };
      };
      400: components['responses']['BadRequest'];
      401: components['responses']['Unauthorized'];
      403: components['responses']['Forbidden'];
      404: components['responses']['NotFound'];
      408: components['responses']['Timeout'];
      412: components['responses']['NotReady'];
      413: components['responses']['TooLarge'];
      415: components['responses']['NotJson'];
      429: components['responses']['Busy'];
      500: components['responses']['InternalError'];
      503: components['responses']['ShuttingDown'];
    };
  };
  get_point: {
    parameters: {
      query?: {
        /** @description Without effect on one node. */
        consistency?: components['parameters']['Consistency'];
        /** @description Seconds until the request is given up with a 408. */
        timeout?: components['parameters']['Timeout'];
      };
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
        /**
         * @description An unsigned integer or a UUID.
         * @example 1
         */
        id: components['parameters']['PointId'];
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      /** @description The point. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['RequestId'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['RecordAnswer'];
        };
      };
      400: components['responses']['BadRequest'];
      401: components['responses']['Unauthorized'];
      403: components['responses']['Forbidden'];
      404: components['responses']['NotFound'];
      408: components['responses']['Timeout'];
      412: components['responses']['NotReady'];
      413: components['responses']['TooLarge'];
      429: components['responses']['Busy'];
      500: components['responses']['InternalError'];
      503: components['responses']['ShuttingDown'];
    };
  };
  delete_points: {
    parameters: {
      query?: {
        /**
         * @description With true the answer comes when the change is durable and visible to the next read; with false when it is
         *     durable.
         */
        wait?: components['parameters']['Wait'];
        /** @description Without effect on one node. */
        ordering?: components['parameters']['Ordering'];
        /** @description Seconds until the request is given up with a 408. */
        timeout?: components['parameters']['Timeout'];
      };
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json': components['schemas']['SelectPoints'];
      };
    };
    responses: {
      200: components['responses']['Updated'];
      400: components['responses']['BadRequest'];
      401: components['responses']['Unauthorized'];
      403: components['responses']['Forbidden'];
      404: components['responses']['NotFound'];
      408: components['responses']['Timeout'];
      412: components['responses']['NotReady'];
      413: components['responses']['TooLarge'];
      415: components['responses']['NotJson'];
      429: components['responses']['Busy'];
      500: components['responses']['InternalError'];
      503: components['responses']['ShuttingDown'];
      507: components['responses']['Full'];
    };
  };
  update_vectors: {
    parameters: {
      query?: {
        /**
         * @description With true the answer comes when the change is durable and visible to the next read; with false when it is
         *     durable.
         */
        wait?: components['parameters']['Wait'];
        /** @description Without effect on one node. */
        ordering?: components['parameters']['Ordering'];
        /** @description Seconds until the request is given up with a 408. */
        timeout?: components['parameters']['Timeout'];
      };
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json': components['schemas']['UpdateVectors'];
      };
    };
    responses: {
      200: components['responses']['Updated'];
      400: components['responses']['BadRequest'];
      401: components['responses']['Unauthorized'];
      403: components['responses']['Forbidden'];
      404: components['responses']['NotFound'];
      408: components['responses']['Timeout'];
      412: components['responses']['NotReady'];
      413: components['responses']['TooLarge'];
      415: components['responses']['NotJson'];
      429: components['responses']['Busy'];
      500: components['responses']['InternalError'];
      503: components['responses']['ShuttingDown'];
      507: components['responses']['Full'];
    };
  };
  delete_vectors: {
    parameters: {
      query?: {
        /**
         * @description With true the answer comes when the change is durable and visible to the next read; with false when it is
         *     durable.
         */
        wait?: components['parameters']['Wait'];
        /** @description Without effect on one node. */
        ordering?: components['parameters']['Ordering'];
        /** @description Seconds until the request is given up with a 408. */
        timeout?: components['parameters']['Timeout'];
      };
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json': components['schemas']['DeleteVectors'];
      };
    };
    responses: {
      200: components['responses']['Updated'];
      400: components['responses']['BadRequest'];
      401: components['responses']['Unauthorized'];
      403: components['responses']['Forbidden'];
      404: components['responses']['NotFound'];
      408: components['responses']['Timeout'];
      412: components['responses']['NotReady'];
      413: components['responses']['TooLarge'];
      415: components['responses']['NotJson'];
      429: components['responses']['Busy'];
      500: components['responses']['InternalError'];
      503: components['responses']['ShuttingDown'];
      507: components['responses']['Full'];
    };
  };
  overwrite_payload: {
    parameters: {
      query?: {
        /**
         * @description With true the answer comes when the change is durable and visible to the next read; with false when it is
         *     durable.
         */
        wait?: components['parameters']['Wait'];
        /** @description Without effect on one node. */
        ordering?: components['parameters']['Ordering'];
        /** @description Seconds until the request is given up with a 408. */
        timeout?: components['parameters']['Timeout'];
      };
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json': components['schemas']['SetPayload'];
      };
    };
    responses: {
      200: components['responses']['Updated'];
      400: components['responses']['BadRequest'];
      401: components['responses']['Unauthorized'];
      403: components['responses']['Forbidden'];
      404: components['responses']['NotFound'];
      408: components['responses']['Timeout'];
      412: components['responses']['NotReady'];
      413: components['responses']['TooLarge'];
      415: components['responses']['NotJson'];
      429: components['responses']['Busy'];
      500: components['responses']['InternalError'];
      503: components['responses']['ShuttingDown'];
      507: components['responses']['Full'];
    };
  };
  set_payload: {
    parameters: {
      query?: {
        /**
         * @description With true the answer comes when the change is durable and visible to the next read; with false when it is
         *     durable.
         */
        wait?: components['parameters']['Wait'];
        /** @description Without effect on one node. */
        ordering?: components['parameters']['Ordering'];
        /** @description Seconds until the request is given up with a 408. */
        timeout?: components['parameters']['Timeout'];
      };
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json': components['schemas']['SetPayload'];
      };
    };
    responses: {
      200: components['responses']['Updated'];
      400: components['responses']['BadRequest'];
      401: components['responses']['Unauthorized'];
      403: components['responses']['Forbidden'];
      404: components['responses']['NotFound'];
      408: components['responses']['Timeout'];
      412: components['responses']['NotReady'];
      413: components['responses']['TooLarge'];
      415: components['responses']['NotJson'];
      429: components['responses']['Busy'];
      500: components['responses']['InternalError'];
      503: components['responses']['ShuttingDown'];
      507: components['responses']['Full'];
    };
  };
  delete_payload: {
    parameters: {
      query?: {
        /**
         * @description With true the answer comes when the change is durable and visible to the next read; with false when it is
         *     durable.
         */
        wait?: components['parameters']['Wait'];
        /** @description Without effect on one node. */
        ordering?: components['parameters']['Ordering'];
        /** @description Seconds until the request is given up with a 408. */
        timeout?: components['parameters']['Timeout'];
      };
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json': components['schemas']['DeletePayload'];
      };
    };
    responses: {
      200: components['responses']['Updated'];
      400: components['responses']['BadRequest'];
      401: components['responses']['Unauthorized'];
      403: components['responses']['Forbidden'];
      404: components['responses']['NotFound'];
      408: components['responses']['Timeout'];
      412: components['responses']['NotReady'];
      413: components['responses']['TooLarge'];
      415: components['responses']['NotJson'];
      429: components['responses']['Busy'];
      500: components['responses']['InternalError'];
      503: components['responses']['ShuttingDown'];
      507: components['responses']['Full'];
    };
  };
  clear_payload: {
    parameters: {
      query?: {
        /**
         * @description With true the answer comes when the change is durable and visible to the next read; with false when it is
         *     durable.
         */
        wait?: components['parameters']['Wait'];
        /** @description Without effect on one node. */
        ordering?: components['parameters']['Ordering'];
        /** @description Seconds until the request is given up with a 408. */
        timeout?: components['parameters']['Timeout'];
      };
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json': components['schemas']['SelectPoints'];
      };
    };
    responses: {
      200: components['responses']['Updated'];
      400: components['responses']['BadRequest'];
      401: components['responses']['Unauthorized'];
      403: components['responses']['Forbidden'];
      404: components['responses']['NotFound'];
      408: components['responses']['Timeout'];
      412: components['responses']['NotReady'];
      413: components['responses']['TooLarge'];
      415: components['responses']['NotJson'];
      429: components['responses']['Busy'];
      500: components['responses']['InternalError'];
      503: components['responses']['ShuttingDown'];
      507: components['responses']['Full'];
    };
  };
  batch_update: {
    parameters: {
      query?: {
        /**
         * @description With true the answer comes when the change is durable and visible to the next read; with false when it is
         *     durable.
         */
        wait?: components['parameters']['Wait'];
        /** @description Without effect on one node. */
        ordering?: components['parameters']['Ordering'];
        /** @description Seconds until the request is given up with a 408. */
        timeout?: components['parameters']['Timeout'];
      };
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json': components['schemas']['BatchUpdate'];
      };
    };
    responses: {
      /** @description How far each of them has come, in their order. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['RequestId'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['UpdatesAnswer'];
        };
      };
      400: components['responses']['BadRequest'];
      401: components['responses']['Unauthorized'];
      403: components['responses']['Forbidden'];
      404: components['responses']['NotFound'];
      408: components['responses']['Timeout'];
      412: components['responses']['NotReady'];
      413: components['responses']['TooLarge'];
      415: components['responses']['NotJson'];
      429: components['responses']['Busy'];
      500: components['responses']['InternalError'];
      503: components['responses']['ShuttingDown'];
      507: components['responses']['Full'];
    };
  };
  create_field_index: {
    parameters: {
      query?: {
        /**
         * @description With true the answer comes when the change is durable and visible to the next read; with false when it is
         *     durable.
         */
        wait?: components['parameters']['Wait'];
        /** @description Without effect on one node. */
        ordering?: components['parameters']['Ordering'];
        /** @description Seconds until the request is given up with a 408. */
        timeout?: components['parameters']['Timeout'];
      };
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json': components['schemas']['CreateFieldIndex'];
      };
    };
    responses: {
      200: components['responses']['Updated'];
      400: components['responses']['BadRequest'];
      401: components['responses']['Unauthorized'];
      403: components['responses']['Forbidden'];
      404: components['responses']['NotFound'];
      408: components['responses']['Timeout'];
      412: components['responses']['NotReady'];
      413: components['responses']['TooLarge'];
      415: components['responses']['NotJson'];
      429: components['responses']['Busy'];
      500: components['responses']['InternalError'];
      503: components['responses']['ShuttingDown'];
      507: components['responses']['Full'];
    };
  };
  delete_field_index: {
    parameters: {
      query?: {
        /**
         * @description With true the answer comes when the change is durable and visible to the next read; with false when it is
         *     durable.
         */
        wait?: components['parameters']['Wait'];
        /** @description Without effect on one node. */
        ordering?: components['parameters']['Ordering'];
        /** @description Seconds until the request is given up with a 408. */
        timeout?: components['parameters']['Timeout'];
      };
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
        /**
         * @description A path into the payload.
         * @example year
         */
        field_name: components['parameters']['Field'];
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      200: components['responses']['Updated'];
      400: components['responses']['BadRequest'];
      401: components['responses']['Unauthorized'];
      403: components['responses']['Forbidden'];
      404: components['responses']['NotFound'];
      408: components['responses']['Timeout'];
      412: components['responses']['NotReady'];
      413: components['responses']['TooLarge'];
      429: components['responses']['Busy'];
      500: components['responses']['InternalError'];
      503: components['responses']['ShuttingDown'];
      507: components['responses']['Full'];
    };
  };
  search_points: {
    parameters: {
      query?: {
        /** @description Without effect on one node. */
        consistency?: components['parameters']['Consistency'];
        /** @description Seconds until the request is given up with a 408. */
        timeout?: components['parameters']['Timeout'];
      };
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json': components['schemas']['SearchRequest'];
      };
    };
    responses: {
      /** @description The hits, best first. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['RequestId'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['HitsAnswer'];
        };
      };
      400: components['responses']['BadRequest'];
      401: components['responses']['Unauthorized'];
      403: components['responses']['Forbidden'];
      404: components['responses']['NotFound'];
      408: components['responses']['Timeout'];
      412: components['responses']['NotReady'];
      413: components['responses']['TooLarge'];
      415: components['responses']['NotJson'];
      429: components['responses']['Busy'];
      500: components['responses']['InternalError'];
      503: components['responses']['ShuttingDown'];
    };
  };
  search_batch_points: {
    parameters: {
      query?: {
        /** @description Without effect on one node. */
        consistency?: components['parameters']['Consistency'];
        /** @description Seconds until the request is given up with a 408. */
        timeout?: components['parameters']['Timeout'];
      };
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json': components['schemas']['SearchBatch'];
      };
    };
    responses: {
      /** @description The hits of each search, in their order. One bad search fails the request. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['RequestId'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['HitListsAnswer'];
        };
      };
      400: components['responses']['BadRequest'];
      401: components['responses']['Unauthorized'];
      403: components['responses']['Forbidden'];
      404: components['responses']['NotFound'];
      408: components['responses']['Timeout'];
      412: components['responses']['NotReady'];
      413: components['responses']['TooLarge'];
      415: components['responses']['NotJson'];
      429: components['responses']['Busy'];
      500: components['responses']['InternalError'];
      503: components['responses']['ShuttingDown'];
    };
  };
  query_points: {
    parameters: {
      query?: {
        /** @description Without effect on one node. */
        consistency?: components['parameters']['Consistency'];
        /** @description Seconds until the request is given up with a 408. */
        timeout?: components['parameters']['Timeout'];
      };
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json': components['schemas']['QueryRequest'];
      };
    };
    responses: {
      /** @description The hits, best first. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['RequestId'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['QueryAnswer'];
        };
      };
      400: components['responses']['BadRequest'];
      401: components['responses']['Unauthorized'];
      403: components['responses']['Forbidden'];
      404: components['responses']['NotFound'];
      408: components['responses']['Timeout'];
      412: components['responses']['NotReady'];
      413: components['responses']['TooLarge'];
      415: components['responses']['NotJson'];
      429: components['responses']['Busy'];
      500: components['responses']['InternalError'];
      503: components['responses']['ShuttingDown'];
    };
  };
  query_batch_points: {
    parameters: {
      query?: {
        /** @description Without effect on one node. */
        consistency?: components['parameters']['Consistency'];
        /** @description Seconds until the request is given up with a 408. */
        timeout?: components['parameters']['Timeout'];
      };
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json': components['schemas']['QueryBatch'];
      };
    };
    responses: {
      /** @description The hits of each query, in their order. One bad query fails the request. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['RequestId'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['QueryAnswers'];
        };
      };
      400: components['responses']['BadRequest'];
      401: components['responses']['Unauthorized'];
      403: components['responses']['Forbidden'];
      404: components['responses']['NotFound'];
      408: components['responses']['Timeout'];
      412: components['responses']['NotReady'];
      413: components['responses']['TooLarge'];
      415: components['responses']['NotJson'];
      429: components['responses']['Busy'];
      500: components['responses']['InternalError'];
      503: components['responses']['ShuttingDown'];
    };
  };
  scroll_points: {
    parameters: {
      query?: {
        /** @description Without effect on one node. */
        consistency?: components['parameters']['Consistency'];
        /** @description Seconds until the request is given up with a 408. */
        timeout?: components['parameters']['Timeout'];
      };
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
      };
      cookie?: never;
    };
    requestBody: {
      content: {
        'application/json': components['schemas']['ScrollRequest'];
      };
    };
    responses: {
      /** @description The page, and the id of the first point of the next one. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['RequestId'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['PageAnswer'];
        };
      };
      400: components['responses']['BadRequest'];
      401: components['responses']['Unauthorized'];
      403: components['responses']['Forbidden'];
      404: components['responses']['NotFound'];
      408: components['responses']['Timeout'];
      412: components['responses']['NotReady'];
      413: components['responses']['TooLarge'];
      415: components['responses']['NotJson'];
      429: components['responses']['Busy'];
      500: components['responses']['InternalError'];
      503: components['responses']['ShuttingDown'];
    };
  };
  count_points: {
    parameters: {
      query?: {
        /** @description Without effect on one node. */
        consistency?: components['parameters']['Consistency'];
        /** @description Seconds until the request is given up with a 408. */
        timeout?: components['parameters']['Timeout'];
      };
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
      };
      cookie?: never;
    };
    requestBody?: {
      content: {
        'application/json': components['schemas']['CountRequest'];
      };
    };
    responses: {
      /** @description How many there are. */
      200: {
        headers: {
          'X-Request-Id': components['headers']['RequestId'];
          [name: string]: unknown;
        };
        content: {
          'application/json': components['schemas']['CountAnswer'];
        };
      };
      400: components['responses']['BadRequest'];
      401: components['responses']['Unauthorized'];
      403: components['responses']['Forbidden'];
      404: components['responses']['NotFound'];
      408: components['responses']['Timeout'];
      412: components['responses']['NotReady'];
      413: components['responses']['TooLarge'];
      415: components['responses']['NotJson'];
      429: components['responses']['Busy'];
      500: components['responses']['InternalError'];
      503: components['responses']['ShuttingDown'];
    };
  };
  get_collections_aliases: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      400: components['responses']['BadRequest'];
      401: components['responses']['Unauthorized'];
      403: components['responses']['Forbidden'];
      500: components['responses']['InternalError'];
      501: components['responses']['NotImplemented'];
      503: components['responses']['ShuttingDown'];
    };
  };
  change_aliases: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      400: components['responses']['BadRequest'];
      401: components['responses']['Unauthorized'];
      403: components['responses']['Forbidden'];
      500: components['responses']['InternalError'];
      501: components['responses']['NotImplemented'];
      503: components['responses']['ShuttingDown'];
    };
  };
  update_aliases: {
    parameters: {
      query?: never;
      header?: never;
      path?: never;
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      400: components['responses']['BadRequest'];
      401: components['responses']['Unauthorized'];
      403: components['responses']['Forbidden'];
      500: components['responses']['InternalError'];
      501: components['responses']['NotImplemented'];
      503: components['responses']['ShuttingDown'];
    };
  };
  get_collection_aliases: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      400: components['responses']['BadRequest'];
      401: components['responses']['Unauthorized'];
      403: components['responses']['Forbidden'];
      500: components['responses']['InternalError'];
      501: components['responses']['NotImplemented'];
      503: components['responses']['ShuttingDown'];
    };
  };
  list_snapshots: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      400: components['responses']['BadRequest'];
      401: components['responses']['Unauthorized'];
      403: components['responses']['Forbidden'];
      500: components['responses']['InternalError'];
      501: components['responses']['NotImplemented'];
      503: components['responses']['ShuttingDown'];
    };
  };
  create_snapshot: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      400: components['responses']['BadRequest'];
      401: components['responses']['Unauthorized'];
      403: components['responses']['Forbidden'];
      500: components['responses']['InternalError'];
      501: components['responses']['NotImplemented'];
      503: components['responses']['ShuttingDown'];
    };
  };
  delete_snapshot: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
        /**
         * @description A snapshot's name.
         * @example nightly
         */
        snapshot_name: components['parameters']['Snapshot'];
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      400: components['responses']['BadRequest'];
      401: components['responses']['Unauthorized'];
      403: components['responses']['Forbidden'];
      500: components['responses']['InternalError'];
      501: components['responses']['NotImplemented'];
      503: components['responses']['ShuttingDown'];
    };
  };
  recover_snapshot: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
        /**
         * @description A snapshot's name.
         * @example nightly
         */
        snapshot_name: components['parameters']['Snapshot'];
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      400: components['responses']['BadRequest'];
      401: components['responses']['Unauthorized'];
      403: components['responses']['Forbidden'];
      500: components['responses']['InternalError'];
      501: components['responses']['NotImplemented'];
      503: components['responses']['ShuttingDown'];
    };
  };
  flush_collection: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      400: components['responses']['BadRequest'];
      401: components['responses']['Unauthorized'];
      403: components['responses']['Forbidden'];
      500: components['responses']['InternalError'];
      501: components['responses']['NotImplemented'];
      503: components['responses']['ShuttingDown'];
    };
  };
  optimize_collection: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      400: components['responses']['BadRequest'];
      401: components['responses']['Unauthorized'];
      403: components['responses']['Forbidden'];
      500: components['responses']['InternalError'];
      501: components['responses']['NotImplemented'];
      503: components['responses']['ShuttingDown'];
    };
  };
  rebuild_index: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      400: components['responses']['BadRequest'];
      401: components['responses']['Unauthorized'];
      403: components['responses']['Forbidden'];
      500: components['responses']['InternalError'];
      501: components['responses']['NotImplemented'];
      503: components['responses']['ShuttingDown'];
    };
  };
  get_collection_status: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      400: components['responses']['BadRequest'];
      401: components['responses']['Unauthorized'];
      403: components['responses']['Forbidden'];
      500: components['responses']['InternalError'];
      501: components['responses']['NotImplemented'];
      503: components['responses']['ShuttingDown'];
    };
  };
  search_point_groups: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      400: components['responses']['BadRequest'];
      401: components['responses']['Unauthorized'];
      403: components['responses']['Forbidden'];
      500: components['responses']['InternalError'];
      501: components['responses']['NotImplemented'];
      503: components['responses']['ShuttingDown'];
    };
  };
  query_points_groups: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      400: components['responses']['BadRequest'];
      401: components['responses']['Unauthorized'];
      403: components['responses']['Forbidden'];
      500: components['responses']['InternalError'];
      501: components['responses']['NotImplemented'];
      503: components['responses']['ShuttingDown'];
    };
  };
  recommend_points: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      400: components['responses']['BadRequest'];
      401: components['responses']['Unauthorized'];
      403: components['responses']['Forbidden'];
      500: components['responses']['InternalError'];
      501: components['responses']['NotImplemented'];
      503: components['responses']['ShuttingDown'];
    };
  };
  recommend_batch_points: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      400: components['responses']['BadRequest'];
      401: components['responses']['Unauthorized'];
      403: components['responses']['Forbidden'];
      500: components['responses']['InternalError'];
      501: components['responses']['NotImplemented'];
      503: components['responses']['ShuttingDown'];
    };
  };
  recommend_point_groups: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      400: components['responses']['BadRequest'];
      401: components['responses']['Unauthorized'];
      403: components['responses']['Forbidden'];
      500: components['responses']['InternalError'];
      501: components['responses']['NotImplemented'];
      503: components['responses']['ShuttingDown'];
    };
  };
  discover_points: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      400: components['responses']['BadRequest'];
      401: components['responses']['Unauthorized'];
      403: components['responses']['Forbidden'];
      500: components['responses']['InternalError'];
      501: components['responses']['NotImplemented'];
      503: components['responses']['ShuttingDown'];
    };
  };
  discover_batch_points: {
    parameters: {
      query?: never;
      header?: never;
      path: {
        /**
         * @description The collection's name.
         * @example articles
         */
        collection_name: components['parameters']['Collection'];
      };
      cookie?: never;
    };
    requestBody?: never;
    responses: {
      400: components['responses']['BadRequest'];
      401: components['responses']['Unauthorized'];
      403: components['responses']['Forbidden'];
      500: components['responses']['InternalError'];
      501: components['responses']['NotImplemented'];
      503: components['responses']['ShuttingDown'];
    };
  };
}
