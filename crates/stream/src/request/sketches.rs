//! Kind, keys and size of what is learned: given by a file, or as they are asked for.

use tamis::key::Recipe;
use tamis::params::{Common, Params};
use tamis::sizing::Kind;
use tamis_jobs::request::{
    ByHand, Counting, Keys, Kinds, OtherColumns, Sizes, read_params, refuse_fixed, refuse_mixed,
};
use tamis_make::files;
use tamis_make::plan::Size;
use tamis_read::error::Result;

use super::{Note, Refusal, StreamJob};
use crate::learned::Sizing;

/// Keys for which a growing filter begins: of one group, or of each of several.
const FIRST_KEYS: u64 = 1 << 20;
const FIRST_KEYS_OF_A_GROUP: u64 = 1 << 14;

/// What is asked of the sketches that learn. Of the options of counters, those that counts beside them do
/// not take.
pub(super) struct Wanted {
    kinds: Kinds,
    keys: Keys,
    sizes: Sizes,
    counting: Counting,
    window: bool,
}

/// What is learned.
pub(super) struct Learning {
    pub(super) common: Common,
    pub(super) sizing: Sizing,
    /// The recipe with the columns that were asked for.
    pub(super) recipe: Recipe,
}

impl Wanted {
    pub(super) fn of(request: &StreamJob, kinds: Kinds) -> Wanted {
        let StreamJob { keys, sizes, counting, .. } = request;
        let window = request.windows.window.is_some();
        if request.counts.is_none() {
            return Wanted { kinds, keys: keys.clone(), sizes: *sizes, counting: *counting, window };
        }
        let kinds = Kinds { conservative: false, ..kinds };
        let keys = Keys { weight: None, ..keys.clone() };
        Wanted { kinds, keys, sizes: *sizes, counting: Counting::default(), window }
    }

    /// What follows from it, beside the files of the request.
    pub(super) fn planned(self, request: &StreamJob, tell: &mut dyn FnMut(&Note)) -> Result<Learning> {
        let planned = match given(request, tell)? {
            Some(params) => self.with(params)?,
            None => self.alone(tell)?,
        };
        if let Some(other) = OtherColumns::of(&planned.recipe, &planned.common.recipe) {
            tell(&Note::OtherColumns(other));
        }
        Ok(planned)
    }

    /// As given parameters have it.
    fn with(self, params: Params) -> Result<Learning> {
        refuse_fixed(&self.kinds, &self.keys, (&self.sizes, &ByHand::default(), &self.counting))?;
        let recipe = self.keys.applied(&params.common.recipe)?;
        let common = params.common.clone();
        let sizing = match params.groups.first() {
            Some(first) if common.kind == Kind::Scalable => Sizing::Growing(first.keys(), first.fpr()),
            _ => Sizing::Params(params),
        };
        Ok(Learning { common, sizing, recipe })
    }

    /// As it is asked for.
    fn alone(mut self, tell: &mut dyn FnMut(&Note)) -> Result<Learning> {
        let size = self.sizes.size()?;
        if !self.kinds.chosen() && self.sizes.keys.is_none() && !self.window {
            self.kinds.kind = Some(Kind::Scalable);
        }
        let common = self.kinds.common(self.keys.recipe()?)?;
        let grouped = common.recipe.group.is_some();
        let first_keys = if grouped { FIRST_KEYS_OF_A_GROUP } else { FIRST_KEYS };
        let has_rate = matches!(common.kind, Kind::Blocked | Kind::Bloom | Kind::Counting);
        if self.window && self.sizes.keys.is_none() && has_rate {
            self.sizes.keys = Some(first_keys);
            tell(&Note::PlannedKeys { keys: first_keys, grouped });
        }
        refuse_mixed(common.kind, self.sizes.given(), self.counting.given())?;
        let sizing = match (common.kind, self.sizes.keys, size) {
            (Kind::Scalable, keys, Size::Fpr(fpr)) => Sizing::Growing(keys.unwrap_or(first_keys), fpr),
            (Kind::Scalable, ..) => return Err(Refusal::SizeOfGrowing.into()),
            (kind, ..) if kind.counts() => Sizing::Counters(self.counting.counters(None)?),
            (Kind::Fuse | Kind::Layered, ..) => Sizing::Growing(1, 0.5), // refused with the reason
            (_, Some(_), Size::Total(_)) if grouped => return Err(Refusal::TotalOfGroups.into()),
            (_, Some(keys), size) => Sizing::Keys(keys, size),
            (kind, None, _) => return Err(Refusal::KeysUnknown(kind).into()),
        };
        Ok(Learning { recipe: common.recipe.clone(), common, sizing })
    }
}

/// Parameters that are given, by themselves or by a file of filters.
fn given(request: &StreamJob, tell: &mut dyn FnMut(&Note)) -> Result<Option<Params>> {
    match (&request.params, &request.from) {
        (Some(path), _) => read_params(path).map(Some),
        (_, Some(path)) => {
            let file = files::open(path)?;
            if file.heavy().is_some() {
                tell(&Note::ListDropped(path.clone()));
            }
            Ok(Some(file.params().clone()))
        }
        _ => Ok(None),
    }
}
