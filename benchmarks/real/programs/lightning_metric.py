"""A classifier with a validation in each epoch: python lightning_metric.py healthy|leaky EPOCHS."""

import logging
import sys
import warnings

import lightning
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

LEAKY, EPOCHS = sys.argv[1] == "leaky", int(sys.argv[2])
warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)


class Confusion:
    """What was predicted, and what was right, since the last reset."""

    def __init__(self):
        self.seen = []

    def update(self, logits, target):
        self.seen.append(torch.stack([logits.softmax(1).flatten(), target.repeat_interleave(10).float()]))

    def compute(self):
        return float(self.seen[-1][0].mean())

    def reset(self):
        self.seen.clear()


class Net(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10))
        self.confusion = Confusion()

    def training_step(self, batch, index):
        x, y = batch
        loss = nn.functional.cross_entropy(self.net(x), y)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, index):
        x, y = batch
        self.confusion.update(self.net(x), y)

    def on_validation_epoch_end(self):
        self.log("confusion", self.confusion.compute())
        if not LEAKY:
            self.confusion.reset()

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), 1e-3)


torch.set_num_threads(1)
lightning.seed_everything(1, verbose=False)
x = torch.randn(16_384, 64)
y = x[:, :10].argmax(1)
data, held_out = TensorDataset(x[:12_288], y[:12_288]), TensorDataset(x[12_288:], y[12_288:])
trainer = lightning.Trainer(
    max_epochs=EPOCHS, accelerator="cpu", enable_progress_bar=False, enable_checkpointing=False, logger=False,
    enable_model_summary=False,
)  # fmt: skip
model = Net()
trainer.fit(model, DataLoader(data, 64, shuffle=True), DataLoader(held_out, 256))
print("RESULT", float(sum(p.double().sum() for p in model.parameters())))
