//! A store that is waited for no longer than a limit.
//!
//! The clients of S3 and HTTP have limits of their own. The one of HDFS waits as long as the connection stands: a
//! NameNode that hangs, or a host that drops what is sent to it, would hold up a job for ever.

use std::fmt;
use std::io;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use object_store::path::Path as Key;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, GetResultPayload, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, PutMultipartOptions, PutOptions, PutPayload, PutResult, RenameOptions, Result, UploadPart,
};
use tokio::time::timeout;

/// For an answer. Longer than the client takes to ask a NameNode again that refuses: what it says then is better
/// than what is said here.
const ANSWER: Duration = Duration::from_secs(30);
/// For parts of a file to be written, of which some wait for others.
const WRITTEN: Duration = Duration::from_secs(120);

async fn limited<T>(limit: Duration, call: impl Future<Output = Result<T>>) -> Result<T> {
    timeout(limit, call).await.unwrap_or_else(|_| Err(silent(limit)))
}

/// Each item of a stream has the limit; after one that did not come, there is nothing more.
fn limited_stream<T: Send + 'static>(items: BoxStream<'static, Result<T>>) -> BoxStream<'static, Result<T>> {
    let next = |items: Option<BoxStream<'static, Result<T>>>| async {
        let mut items = items?;
        match timeout(ANSWER, items.next()).await {
            Ok(item) => Some((item?, Some(items))),
            Err(_) => Some((Err(silent(ANSWER)), None)),
        }
    };
    stream::unfold(Some(items), next).boxed()
}

fn silent(limit: Duration) -> Error {
    let source = io::Error::new(io::ErrorKind::TimedOut, format!("no answer in {} s", limit.as_secs()));
    Error::Generic { store: "HDFS", source: Box::new(source) }
}

/// A store whose every call ends.
#[derive(Debug)]
pub(super) struct Patient<S>(pub(super) S);

impl<S: fmt::Display> fmt::Display for Patient<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[async_trait]
impl<S: ObjectStore> ObjectStore for Patient<S> {
    async fn put_opts(&self, key: &Key, payload: PutPayload, options: PutOptions) -> Result<PutResult> {
        limited(WRITTEN, self.0.put_opts(key, payload, options)).await
    }

    async fn put_multipart_opts(
        &self,
        key: &Key,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        let upload = limited(ANSWER, self.0.put_multipart_opts(key, options)).await?;
        Ok(Box::new(Patient(upload)))
    }

    async fn get_opts(&self, key: &Key, options: GetOptions) -> Result<GetResult> {
        let mut got = limited(ANSWER, self.0.get_opts(key, options)).await?;
        got.payload = match got.payload {
            GetResultPayload::Stream(pieces) => GetResultPayload::Stream(limited_stream(pieces)),
            // A file of this machine.
            #[allow(unreachable_patterns)]
            other => other,
        };
        Ok(got)
    }

    fn delete_stream(&self, keys: BoxStream<'static, Result<Key>>) -> BoxStream<'static, Result<Key>> {
        limited_stream(self.0.delete_stream(keys))
    }

    fn list(&self, prefix: Option<&Key>) -> BoxStream<'static, Result<ObjectMeta>> {
        limited_stream(self.0.list(prefix))
    }

    async fn list_with_delimiter(&self, prefix: Option<&Key>) -> Result<ListResult> {
        limited(ANSWER, self.0.list_with_delimiter(prefix)).await
    }

    async fn copy_opts(&self, from: &Key, to: &Key, options: CopyOptions) -> Result<()> {
        limited(ANSWER, self.0.copy_opts(from, to, options)).await
    }

    // Not the trait's own, which copies: that of HDFS is one step.
    async fn rename_opts(&self, from: &Key, to: &Key, options: RenameOptions) -> Result<()> {
        limited(ANSWER, self.0.rename_opts(from, to, options)).await
    }
}

#[async_trait]
impl MultipartUpload for Patient<Box<dyn MultipartUpload>> {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        Box::pin(limited(WRITTEN, self.0.put_part(data)))
    }

    async fn complete(&mut self) -> Result<PutResult> {
        limited(WRITTEN, self.0.complete()).await
    }

    async fn abort(&mut self) -> Result<()> {
        limited(ANSWER, self.0.abort()).await
    }
}
