import torch
from transformers import BertConfig, GroundingDinoConfig, GroundingDinoForObjectDetection, SwinConfig

torch.manual_seed(0)
device = "cuda" if torch.cuda.is_available() else "cpu"
swin = SwinConfig(
    image_size=32, embed_dim=16, depths=[1, 1], num_heads=[1, 1], window_size=2, out_features=["stage1", "stage2"]
)
sizes = {"num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 128, "max_position_embeddings": 64}
both = {
    f"{part}_{name}": n
    for part in ("encoder", "decoder")
    for name, n in (("layers", 1), ("attention_heads", 2), ("ffn_dim", 128))
}
text = BertConfig(hidden_size=64, **sizes)
config = GroundingDinoConfig(
    swin, text_config=text, d_model=64, num_queries=4, num_feature_levels=2, use_timm_backbone=False, **both
)
model = GroundingDinoForObjectDetection(config).eval().to(device)
ids, mask = (
    torch.tensor([[101, 7, 8, 1012, 9, 10, 11, 1012, 102]], device=device),
    torch.ones(1, 32, 32, dtype=torch.long, device=device),
)
with torch.no_grad():
    print(
        model(
            torch.randn(1, 3, 32, 32, device=device), ids, torch.zeros_like(ids), torch.ones_like(ids), mask
        ).logits.shape
    )
